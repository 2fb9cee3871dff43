// Package content interprets the content of pages, forms and glyphs, and reports what is drawn
// where: text by the outlines of its glyphs, paths, pictures, shadings and backgrounds, without
// what is clipped away. Boxes are never smaller than the ink; if that cannot be determined, it says
// so.
package content
