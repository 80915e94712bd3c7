"""Styles, scripts and pictures as browsers get them."""
