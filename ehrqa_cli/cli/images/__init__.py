"""`ehrqa images`: register chest X-rays and read them."""
