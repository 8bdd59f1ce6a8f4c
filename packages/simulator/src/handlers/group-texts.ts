/** Parses the rootkit and audit lists of a group into the manager's response. */

function meaningful(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '' && !line.trimStart().startsWith('#'))
}

/** `file ! name :link` */
export function parseRootkitFiles(text: string) {
  return meaningful(text).flatMap((line) => {
    const [filename, rest] = halves(line, '!')
    const [name, link] = halves(rest, ':')
    return { filename, name, link }
  })
}

/** `file !pattern!description` */
export function parseRootkitTrojans(text: string) {
  return meaningful(text).map((line) => {
    const [filename = '', name = '', description = ''] = line.split('!').map((part) => part.trim())
    return { filename, name, description }
  })
}

function halves(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text.trim(), ''] : [text.slice(0, at).trim(), text.slice(at + 1).trim()]
}

/** `$variable=value;`, then `[name] [condition] [reference]` with its checks below. */
export function parseTests(text: string) {
  const vars: Record<string, string> = {}
  const controls: { name: string; condition: string; reference: string; checks: string[] }[] = []
  for (const line of meaningful(text)) {
    const [, variable, value] = /^(\$[A-Za-z0-9_]+)=(.*)$/.exec(line) ?? []
    const [, name, condition = '', reference = ''] = /^\[([^\]]*)\] *\[([^\]]*)\] *\[([^\]]*)\]/.exec(line) ?? []
    if (variable !== undefined) vars[variable] = value ?? ''
    else if (name !== undefined) controls.push({ name, condition, reference, checks: [] })
    else controls.at(-1)?.checks.push(line.trim())
  }
  return { vars, controls }
}
