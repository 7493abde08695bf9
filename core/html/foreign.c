/* SPDX-License-Identifier: MIT */
/*
 * Names of SVG and MathML: which of them have capitals (HTML standard, 13.2.6.1 and
 * 13.2.6.5), and which elements have HTML in them.
 */
#include "html/own.h"

/* In alphabetical order, without regard to case. */
static const char *const elements[] = {
    "altGlyph",
    "altGlyphDef",
    "altGlyphItem",
    "animateColor",
    "animateMotion",
    "animateTransform",
    "clipPath",
    "feBlend",
    "feColorMatrix",
    "feComponentTransfer",
    "feComposite",
    "feConvolveMatrix",
    "feDiffuseLighting",
    "feDisplacementMap",
    "feDistantLight",
    "feDropShadow",
    "feFlood",
    "feFuncA",
    "feFuncB",
    "feFuncG",
    "feFuncR",
    "feGaussianBlur",
    "feImage",
    "feMerge",
    "feMergeNode",
    "feMorphology",
    "feOffset",
    "fePointLight",
    "feSpecularLighting",
    "feSpotLight",
    "feTile",
    "feTurbulence",
    "foreignObject",
    "glyphRef",
    "linearGradient",
    "radialGradient",
    "textPath",
};

static const char *const attributes[] = {
    "attributeName",
    "attributeType",
    "baseFrequency",
    "baseProfile",
    "calcMode",
    "clipPathUnits",
    "diffuseConstant",
    "edgeMode",
    "filterUnits",
    "glyphRef",
    "gradientTransform",
    "gradientUnits",
    "kernelMatrix",
    "kernelUnitLength",
    "keyPoints",
    "keySplines",
    "keyTimes",
    "lengthAdjust",
    "limitingConeAngle",
    "markerHeight",
    "markerUnits",
    "markerWidth",
    "maskContentUnits",
    "maskUnits",
    "numOctaves",
    "pathLength",
    "patternContentUnits",
    "patternTransform",
    "patternUnits",
    "pointsAtX",
    "pointsAtY",
    "pointsAtZ",
    "preserveAlpha",
    "preserveAspectRatio",
    "primitiveUnits",
    "refX",
    "refY",
    "repeatCount",
    "repeatDur",
    "requiredExtensions",
    "requiredFeatures",
    "specularConstant",
    "specularExponent",
    "spreadMethod",
    "startOffset",
    "stdDeviation",
    "stitchTiles",
    "surfaceScale",
    "systemLanguage",
    "tableValues",
    "targetX",
    "targetY",
    "textLength",
    "viewBox",
    "viewTarget",
    "xChannelSelector",
    "yChannelSelector",
    "zoomAndPan",
};

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* Compares s, which is in small letters, with a name of a table. */
static int compare(struct str s, const char *name)
{
    for (size_t i = 0; i < s.n; i++) {
        int c = (unsigned char)s.p[i] - (unsigned char)lower(name[i]);
        if (c || !name[i])
            return c;
    }
    return name[s.n] ? -1 : 0;
}

static struct str adjusted(struct str s, const char *const *names, size_t count)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int c = compare(s, names[mid]);
        if (c == 0)
            return str_of(names[mid]);
        if (c < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return s;
}

void html_foreign_names(struct html_token *t, bool math)
{
    if (!math)
        t->text = adjusted(t->text, elements, sizeof(elements) / sizeof(*elements));
    for (struct html_attr *a = t->attrs; a; a = a->next) {
        if (!math)
            a->name = adjusted(a->name, attributes,
                               sizeof(attributes) / sizeof(*attributes));
        else if (str_eq(a->name, STR("definitionurl")))
            a->name = STR("definitionURL");
    }
}

bool html_is_foreign_text(const struct html_node *n)
{
    static const char *const names[] = {"mi", "mo", "mn", "ms", "mtext"};
    for (size_t i = 0; n->foreign && n->math && i < sizeof(names) / sizeof(*names); i++) {
        if (str_eq(n->name, str_of(names[i])))
            return true;
    }
    return false;
}

static bool same(struct str a, const char *z)
{
    if (a.n != strlen(z))
        return false;
    for (size_t i = 0; i < a.n; i++) {
        if (lower(a.p[i]) != z[i])
            return false;
    }
    return true;
}

bool html_is_annotation(const struct html_node *n)
{
    return n->foreign && n->math && str_eq(n->name, STR("annotation-xml"));
}

bool html_is_foreign_html(const struct html_node *n)
{
    if (!n->foreign)
        return false;
    if (!n->math)
        return str_eq(n->name, STR("foreignObject")) || str_eq(n->name, STR("desc")) ||
               str_eq(n->name, STR("title"));
    struct str encoding = html_get(n, "encoding");
    return html_is_annotation(n) &&
           (same(encoding, "text/html") || same(encoding, "application/xhtml+xml"));
}
