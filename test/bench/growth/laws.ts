/** How a cost grows: flat, or linear. A law that does not hold makes `npm run bench:growth` fail. */

export interface Point {
  /** Entries, connections, users or replicas. */
  readonly x: number
  readonly y: number
}

export type Law =
  /** Every value is at most this many times the first one. */
  | { readonly kind: 'flat'; readonly factor: number }
  /** The value grows no faster than in proportion: the slope to the last point is at most `factor` times the slope before. */
  | { readonly kind: 'linear'; readonly factor: number }

export interface Verdict {
  readonly holds: boolean
  /** The law with its figures. */
  readonly text: string
}

/** Returns the line of least squares. */
export function lineOf(points: readonly Point[]): { readonly intercept: number; readonly slope: number } {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map((point) => point.x)), mean(points.map((point) => point.y))]
  const spread = mean(points.map((point) => (point.x - x) ** 2))
  const slope = spread === 0 ? 0 : mean(points.map((point) => (point.x - x) * (point.y - y))) / spread
  return { intercept: y - slope * x, slope }
}

/** `unit`: of the values, such as `µs`. `points` in the order of x, two or more. */
export function judge(law: Law, points: readonly Point[], unit: string): Verdict {
  return law.kind === 'flat' ? judgeFlat(points, law.factor, unit) : judgeLinear(points, law.factor, unit)
}

function judgeFlat(points: readonly Point[], factor: number, unit: string): Verdict {
  const first = points[0]?.y ?? Number.NaN
  const highest = Math.max(...points.map(({ y }) => y)) / first
  const holds = highest <= factor
  const verdict = holds ? 'flat' : 'NOT flat'
  return { holds, text: `${verdict}: at most ${highest.toFixed(2)} × ${format(first)} ${unit} (≤ ${factor})` }
}

/** A cost that grows no more than this over the whole range is below every line. */
const HARDLY = 1.5

function judgeLinear(points: readonly Point[], factor: number, unit: string): Verdict {
  const { intercept, slope } = lineOf(points)
  const growth = slopeOf(points[0], points.at(-1)) / slopeOf(points[0], points.at(-2))
  // Of a cost that hardly grows, the slopes are noise.
  const hardlyGrows = (points.at(-1)?.y ?? 0) <= HARDLY * (points[0]?.y ?? 0)
  const holds = hardlyGrows || points.length < 3 || growth <= factor
  const line = `${format(intercept)} + ${format(slope)} × n ${unit}`
  const verdict = holds ? 'linear' : 'FASTER than linear'
  return {
    holds,
    text: `${verdict}: ${line} (slope to the last point ${growth.toFixed(2)} × the one before, ≤ ${factor})`,
  }
}

function slopeOf(from: Point | undefined, to: Point | undefined): number {
  return from === undefined || to === undefined ? Number.NaN : (to.y - from.y) / (to.x - from.x)
}

export function format(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2)
}
