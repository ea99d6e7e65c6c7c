/** The places of a timeline's bars: one for each version, on an axis that all share. Pure. */
import { type Axis, axisOf, dayNumber } from './time-axis.ts';
import { isNeverInEffect, type Span } from './words.ts';

/** The whole picture, in pixels. */
export const PICTURE_WIDTH = 1_040;
/** Room of an open beginning, left of all days. */
const LEFT = 28;
/** Room of an open end, right of all days, and of the last day's label. */
const RIGHT = PICTURE_WIDTH - 72;
/** So far from the edge does an open end reach. */
const EDGE = 6;
/** A day is narrower than a pixel when the picture has years. */
const BAR_WIDTH_MIN = 4;

export type Bar = {
  readonly x: number;
  readonly width: number;
  /** It has no first day; no last day. */
  readonly isOpenBefore: boolean;
  readonly isOpenAfter: boolean;
  /** It ends before it begins: the bar is what lies between. */
  readonly isNever: boolean;
};

export type Timeline = { readonly axis: Axis; readonly bars: readonly Bar[] };

/** Bars of the spans, in their order. The axis also has the days given and the year of the first one. */
export function timelineOf(spans: readonly Span[], days: readonly [string, ...string[]]): Timeline {
  const year = days[0].slice(0, 4);
  const ends = spans.flatMap(({ from, until }) => [from, until]).filter((day) => day !== null);
  const named = [...ends, ...days, `${year}-01-01`, `${year}-12-31`];
  const axis = axisOf(named.map(dayNumber), LEFT, RIGHT);
  return { axis, bars: spans.map((span) => barOf(axis, span)) };
}

function barOf(axis: Axis, span: Span): Bar {
  const { from, until } = span;
  const isNever = isNeverInEffect(span);
  const one = from === null ? EDGE : axis.x(dayNumber(from));
  const other = until === null ? PICTURE_WIDTH - EDGE : axis.x(dayNumber(until));
  const x = Math.min(one, other);
  return {
    x,
    width: Math.max(BAR_WIDTH_MIN, Math.max(one, other) - x),
    isOpenBefore: from === null,
    isOpenAfter: until === null,
    isNever,
  };
}
