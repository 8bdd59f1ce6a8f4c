/** What an operator may paste into the field of Explain: a path, a full URL, or a line of a log. */

export interface ExplainedUrl {
  /** Path and query, percent-encoded. */
  readonly target: string
  /** What was changed or left out, as sentences. */
  readonly notes: readonly string[]
}

/** Scheme, user and password, and host with its port. */
const ORIGIN = /^(https?):\/\/(?:[^/?#@]*@)?([^/?#@]*)/i
/** A host without a scheme is recognised by its port. */
const HOST_WITH_PORT = /^([\w.-]+:\d+)(?=[/?#]|$)/
/** A request line, as logs and `curl -v` show it. */
const REQUEST_LINE = /^([A-Z]{3,7})\s+(\S.*?)(?:\s+HTTP\/\d(?:\.\d)?)?$/

/** Throws an error with a message for the operator. `edgeUrl`: the address at which clients reach the edge. */
export function parseExplainedUrl(text: string, edgeUrl: string): ExplainedUrl {
  const notes: string[] = []
  let rest = decodeWhole(withoutQuotes(text.trim()), notes)
  const [, method, named] = REQUEST_LINE.exec(rest) ?? []
  if (method !== undefined && named !== undefined) {
    if (method !== 'GET' && method !== 'HEAD') throw new Error(`Only responses to GET are stored, none to ${method}.`)
    rest = named
  }
  rest = withoutOrigin(rest, edgeUrl, notes)
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(rest)) throw new Error('Give an http or https URL, or a path that begins with /.')
  if (!rest.startsWith('/')) rest = rest === '' || /^[?#]/.test(rest) ? `/${rest}` : addSlash(rest, notes)
  return { target: encodeRest(rest, notes), notes }
}

function withoutQuotes(text: string): string {
  const [, inner] = /^(?:"(.*)"|'(.*)'|<(.*)>)$/.exec(text)?.filter((part) => part !== undefined) ?? []
  return (inner ?? text).trim()
}

/** Decodes a URL that was encoded as the value of a query, such as `https%3A%2F%2F…` or `%2Fagents%3Flimit%3D3`. */
function decodeWhole(text: string, notes: string[]): string {
  if (!/^(?:https?%3a|%2f)/i.test(text)) return text
  try {
    const decoded = decodeURIComponent(text)
    notes.push('The whole URL was percent-encoded. It was decoded once.')
    return decoded
  } catch {
    throw new Error('The URL is not valid percent-encoding.')
  }
}

function withoutOrigin(text: string, edgeUrl: string, notes: string[]): string {
  const [origin, scheme, named] = ORIGIN.exec(text) ?? []
  const [hostAlone] = HOST_WITH_PORT.exec(text) ?? []
  const host = named ?? hostAlone
  if (host === undefined) return text
  const own = URL.canParse(edgeUrl) ? new URL(edgeUrl) : undefined
  const given = URL.canParse(`${scheme ?? 'https'}://${host}`) ? new URL(`${scheme ?? 'https'}://${host}`) : undefined
  if (given === undefined) throw new Error(`${host} is not a valid host.`)
  const isOwn = scheme === undefined ? given.host === own?.host : given.origin === own?.origin
  if (!isOwn) {
    const address = scheme === undefined ? host : given.origin
    notes.push(
      `${address} is not the address of this edge${own === undefined ? '' : ` (${own.origin})`}. The answer is that of this edge.`,
    )
  }
  return text.slice((origin ?? hostAlone ?? '').length)
}

function addSlash(text: string, notes: string[]): string {
  notes.push('A path begins with /. It was added.')
  return `/${text}`
}

/** Encodes what no URL may contain, and leaves existing percent-encoding as it is. */
function encodeRest(text: string, notes: string[]): string {
  const encoded = text.replaceAll(/[^!-~]|["<>\\^`{|}]|%(?![\da-f]{2})/giu, (found) => encodeURIComponent(found))
  if (encoded !== text) notes.push('Spaces and other characters that a URL cannot contain were percent-encoded.')
  return encoded
}
