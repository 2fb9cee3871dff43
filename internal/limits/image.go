package limits

// ImagePixels is the largest picture that a visible signature may show.
const ImagePixels = 25_000_000
