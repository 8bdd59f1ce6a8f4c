/**
 * The body of a response with all rows of a joined collection. Each row is one line, so that the rows can be parsed in
 * parts without a search for their ends.
 */

/** Between rows, which themselves have no newline. */
export const ROW_SEPARATOR = ',\n'
export const LINES_END = '\n]}}'

/** Returns the first line of the body. `others` are further members of `data`. */
export function linesStart(total: number, others: object = {}): string {
  const members = JSON.stringify({ totalItems: total, ...others }).slice(1, -1)
  return `{"error":0,"data":{${members},"items":[\n`
}

/** Returns the members of `data` other than the rows, from the first line. */
export function membersOfLines(body: Buffer): Readonly<Record<string, unknown>> {
  const start = body.toString('utf8', 0, body.indexOf('\n'))
  const { items, ...members } = (JSON.parse(`${start}]}}`) as { data: Record<string, unknown> }).data
  return members
}
