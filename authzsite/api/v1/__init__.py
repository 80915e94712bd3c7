"""What the other surfaces lack; errors are problems as RFC 9457 writes them."""
