"""What the kinds share that mirror entries of a person on an object: peers of Herd and CDAP."""
