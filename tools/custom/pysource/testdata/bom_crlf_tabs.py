def bell(bell: str):
	"""Rings.

	Args:
		bell: The bell,
			which rings.
	"""
	return 1
