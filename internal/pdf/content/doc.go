// Package content follows the content of pages, forms and glyphs, and tells what
// is drawn where: text by the outlines of its glyphs, paths, pictures, shadings
// and grounds, with what is clipped away left out. Boxes are never smaller than
// the ink; where that cannot be told, it says so.
package content
