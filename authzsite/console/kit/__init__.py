"""What every area of the console is built of: who is let in, pages, forms, messages."""
