/** Header fields that are made once and sent often: as the framework takes them, and as they stand on the wire. */
export interface Fields {
  /** Names in lower case and values, in turn. */
  readonly pairs: readonly string[]
  /** A line for each. */
  readonly text: string
}

export function fields(pairs: readonly string[]): Fields {
  // Joined flat: a text that is still in pieces would be put together again each time it is sent.
  return { pairs, text: Buffer.from(lines(pairs), 'latin1').toString('latin1') }
}

/** As one text, where Node gives a header that came several times as a list. */
export function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header
}

export function lines(pairs: readonly string[]): string {
  let text = ''
  for (let at = 0; at < pairs.length; at += 2) text += `${pairs[at]}: ${pairs[at + 1]}\r\n`
  return text
}
