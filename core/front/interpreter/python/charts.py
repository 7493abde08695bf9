# SPDX-License-Identifier: MIT
#
# The chart of a matplotlib figure, from the artists that it holds: chart_of_figure()
# gives what clients of E2B's code interpreter know as a chart, or None for a figure in
# which nothing is drawn. Compiled in the kernel for its first figure (results.py).
import re

from matplotlib import dates
from matplotlib.collections import PathCollection
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch, Rectangle, Wedge
from matplotlib.text import Text

UNIT = re.compile(r'\s\((.*?)\)|\[(.*?)\]')


def chart_of_figure(figure):
    all_axes = [axes for axes in figure.get_axes() if drawn(axes)]
    if not all_axes:
        return None
    if len(all_axes) == 1:
        return chart_of_axes(all_axes[0])
    title = getattr(figure, '_suptitle', None)
    return {'type': 'superchart', 'title': (title.get_text() if title else '') or None,
            'elements': [chart_of_axes(axes) for axes in all_axes]}


def drawn(axes):
    return [a for a in axes._children if not isinstance(a, Text)]


def chart_of_axes(axes):
    artists = drawn(axes)

    def all_are(*kinds):
        return bool(artists) and all(isinstance(a, kinds) for a in artists)
    if all_are(Line2D):
        return lines(axes, artists)
    if all_are(PathPatch, Line2D):
        return boxes(axes, artists)
    artists = [a for a in artists if not is_straight(a)]
    if all_are(PathCollection):
        return points(axes, artists)
    if all_are(Wedge):
        return wedges(axes, artists)
    if all_are(Rectangle):
        return bars(axes)
    return {'type': 'unknown', 'title': axes.get_title() or None, 'elements': []}


def is_straight(artist):
    """A line from one side to the other, as axhline() and grids have."""
    if not isinstance(artist, Line2D):
        return False
    x, y = artist.get_xdata(orig=False), artist.get_ydata(orig=False)
    return len(x) == 2 and (x[0] == x[1] or y[0] == y[1])


def series(artist, word):
    """The label of a series; "WORD N" instead of matplotlib's own _child N."""
    label = str(artist.get_label())
    own = re.match(r'_[a-z]+(\d+)$', label)
    return '%s %s' % (word, own.group(1)) if own else label


# ---- axes

def described(kind, axes, elements, sideways=False):
    chart = {'type': kind, 'title': axes.get_title() or None, 'elements': elements}
    for name, text in (('x', axes.get_ylabel() if sideways else axes.get_xlabel()),
                       ('y', axes.get_xlabel() if sideways else axes.get_ylabel())):
        unit = UNIT.search(text)
        chart[name + '_label'] = text or None
        chart[name + '_unit'] = (unit.group(1) or unit.group(2) or None) if unit else None
    return chart


def has_dates(axis):
    get = getattr(axis, 'get_converter', None)
    converter = get() if get else axis.converter
    return 'Date' in type(converter).__name__


def value(axis, number):
    if isinstance(number, (str, bytes)):
        return number
    return dates.num2date(number).isoformat() if has_dates(axis) else float(number)


def scale(axis, ticks, labels):
    if has_dates(axis):
        return 'datetime'
    kind = axis.get_scale()
    numbers = list(range(len(ticks)))
    if kind == 'linear' and list(ticks) == numbers and labels != [str(n) for n in numbers]:
        return 'categorical'
    return kind


def with_ticks(chart, axes):
    for name, axis in (('x', axes.xaxis), ('y', axes.yaxis)):
        ticks = axis.get_majorticklocs()
        labels = [label.get_text() for label in axis.get_majorticklabels()]
        chart[name + '_ticks'] = [value(axis, tick) for tick in ticks]
        chart[name + '_tick_labels'] = labels
        chart[name + '_scale'] = scale(axis, ticks, labels)
    return chart


def coordinates(axis, given, numbers):
    """The words of a categorical axis; else the numbers, or dates."""
    if len(given) and all(isinstance(g, str) for g in given):
        return [str(g) for g in given]
    return [value(axis, n) for n in numbers]


# ---- kinds of charts

def lines(axes, artists):
    elements = []
    for line in artists:
        x = coordinates(axes.xaxis, line.get_xdata(), line.get_xdata(orig=False))
        y = coordinates(axes.yaxis, line.get_ydata(), line.get_ydata(orig=False))
        elements.append({'label': series(line, 'Line'),
                         'points': [list(point) for point in zip(x, y)]})
    return with_ticks(described('line', axes, elements), axes)


def points(axes, artists):
    elements = [{'label': series(collection, 'Group'),
                 'points': [[value(axes.xaxis, x), value(axes.yaxis, y)]
                            for x, y in collection.get_offsets()]}
                for collection in artists]
    return with_ticks(described('scatter', axes, elements), axes)


def wedges(axes, artists):
    return {'type': 'pie', 'title': axes.get_title() or None,
            'elements': [{'label': str(w.get_label()),
                          'angle': round(abs(float(w.theta2) - float(w.theta1)), 4),
                          'radius': float(w.r)} for w in artists]}


def names_of(axis, positions):
    """A label for each position: the ticks' if there are as many, or of a tick there."""
    ticks = list(axis.get_majorticklocs())
    labels = [label.get_text() for label in axis.get_majorticklabels()]
    if len(ticks) == len(positions) == len(labels):
        return labels
    known = {round(float(t), 9): label for t, label in zip(ticks, labels) if label}
    return [known.get(round(float(p), 9), '%.10g' % p) for p in positions]


def bars(axes):
    elements, sideways = [], False
    for group in axes.containers:
        sideways = getattr(group, 'orientation', None) == 'horizontal'
        rectangles = list(group)
        if sideways:
            middles = [r.get_y() + r.get_height() / 2 for r in rectangles]
        else:
            middles = [r.get_x() + r.get_width() / 2 for r in rectangles]
        names = names_of(axes.yaxis if sideways else axes.xaxis, middles)
        for name, rectangle in zip(names, rectangles):
            elements.append({
                'label': name, 'group': series(group, 'Group'),
                'value': float(rectangle.get_width() if sideways else rectangle.get_height())})
    return described('bar', axes, elements, sideways)


def boxes(axes, artists):
    patches = [a for a in artists if isinstance(a, PathPatch)]
    strokes = [a for a in artists if isinstance(a, Line2D)]
    sides = [(patch.get_path().get_extents()) for patch in patches]
    sideways = not any(is_whisker(line, box, False) for box in sides for line in strokes)
    along, across = ('x', 'y') if sideways else ('y', 'x')
    middles = [(getattr(b, across + '0') + getattr(b, across + '1')) / 2 for b in sides]
    names = names_of(axes.yaxis if sideways else axes.xaxis, middles)
    return described('box_and_whisker', axes,
                     [box_of(name, middle, box, strokes, along, sideways)
                      for name, middle, box in zip(names, middles, sides)], sideways)


def is_near(a, b):
    return abs(float(a) - float(b)) <= 1e-9 * max(1.0, abs(float(a)), abs(float(b)))


def data_of(line, sideways):
    """The line's positions across the boxes, and along them."""
    x, y = line.get_xdata(orig=False), line.get_ydata(orig=False)
    return (y, x) if sideways else (x, y)


def is_whisker(line, box, sideways):
    across, along = data_of(line, sideways)
    low, high = (box.x0, box.x1) if sideways else (box.y0, box.y1)
    middle = (box.y0 + box.y1) / 2 if sideways else (box.x0 + box.x1) / 2
    return (len(along) == 2 and line.get_linestyle() != 'None'
            and all(is_near(a, middle) for a in across)
            and (is_near(along[0], low) and along[1] <= low
                 or is_near(along[0], high) and along[1] >= high))


def box_of(name, middle, box, strokes, along, sideways):
    low, high = getattr(box, along + '0'), getattr(box, along + '1')
    ends, median, outliers = [low, high], None, []
    for line in strokes:
        across, values = data_of(line, sideways)
        if is_whisker(line, box, sideways):
            ends += list(values)
        elif line.get_linestyle() == 'None':
            if len(across) and all(is_near(a, middle) for a in across):
                outliers += [float(v) for v in values]
        elif (len(values) == 2 and values[0] == values[1] and low <= values[0] <= high
              and is_near((across[0] + across[1]) / 2, middle)):
            median = float(values[0])
    return {'label': name, 'min': float(min(ends)), 'first_quartile': float(low),
            'median': median, 'third_quartile': float(high), 'max': float(max(ends)),
            'outliers': outliers}
