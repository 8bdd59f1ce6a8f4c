/** The comments of config/default.yaml: what each setting means. */

interface Comment {
  readonly path: string
  readonly text: string
}

const LINE = /^( *)([^\s#:][^\s:]*(?::[^\s:]+)*):(?:\s+(.*?))?$/
const INDENT = 2

/** Returns the comments of a YAML file, one per key. A comment that continues on the next line is joined. */
export function commentsOf(text: string): Map<string, string> {
  const found: Comment[] = []
  const path: string[] = []
  for (const line of text.split('\n')) {
    const continued = /^ {8,}# ?(.*)$/.exec(line)
    const last = found.at(-1)
    if (continued !== null && last !== undefined) {
      found[found.length - 1] = { path: last.path, text: `${last.text} ${continued[1]?.trim()}`.trim() }
      continue
    }
    const [, indent = '', key, rest = ''] = LINE.exec(line) ?? []
    if (key === undefined) continue
    path.length = indent.length / INDENT
    path.push(key)
    const comment = /(?:^|\s)# (.*)$/.exec(rest)?.[1]
    found.push({ path: path.join('.'), text: comment?.trim() ?? '' })
  }
  return new Map(found.map(({ path, text }) => [path, text]))
}
