/* SPDX-License-Identifier: MIT */
/*
 * Formulas as a line of text: those of Office (OMML; ECMA-376, part 1, 22.1) and MathML
 * (MathML Core). The line has the structure: (a+b)/2, x_i^2, √(x+1), ∑_(i=1)^n, and a
 * matrix as [a, b; c, d].
 */
#ifndef OD_DOCUMENT_MATH_H
#define OD_DOCUMENT_MATH_H

#include "document/xml.h"

/*
 * Appends the formula whose element (oMath, math) was just opened, and reads up to its
 * end; of a document that is cut off there, up to where it is. Returns -1 if out is full.
 */
int math_line(struct xml *x, struct buf *out);

#endif
