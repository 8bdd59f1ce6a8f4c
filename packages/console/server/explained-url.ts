/** What an operator may paste into the field of Explain, or give to the command: a path, a full URL, or a line of a log. */
import type { ClientPort } from '../../../src/status/view-types.ts'

export interface ExplainedUrl {
  /** Path and query, percent-encoded; of the v4 contract with `v4:` in front. */
  readonly target: string
  /** What was changed or left out, as sentences. */
  readonly notes: readonly string[]
}

/** Scheme, user and password, and host with its port. */
const ORIGIN = /^(https?):\/\/(?:[^/?#@]*@)?([^/?#@]*)/i
/** A host without a scheme is recognised by its port. */
const HOST_WITH_PORT = /^([\w.-]+:\d+)(?=[/?#]|$)/
/** A request line, as logs and `curl -v` show it. */
const REQUEST_LINE = /^([A-Z]{3,7})\s(.*)$/s
const VERSION = /\sHTTP\/\d(?:\.\d)?$/

const CONTRACT = /^(v3|v4):(?=\/)/

/**
 * Throws an error with a message for the operator. `ports`: the addresses at which clients reach the edge. `contractOfPath`: of
 * what names no port.
 */
export function parseExplainedUrl(
  text: string,
  ports: readonly ClientPort[],
  contractOfPath = defaultContract(ports),
): ExplainedUrl {
  const notes: string[] = []
  let rest = decodeWhole(withoutQuotes(text.trim()), notes)
  const [, method, named] = REQUEST_LINE.exec(rest) ?? []
  if (method !== undefined && named?.trim()) {
    if (method !== 'GET' && method !== 'HEAD') throw new Error(`Only responses to GET are stored, none to ${method}.`)
    rest = named.replace(VERSION, '').trim()
  }
  const [prefix, prefixed] = CONTRACT.exec(rest) ?? []
  const located =
    prefix === undefined ? withoutOrigin(rest, ports, notes) : { rest: rest.slice(prefix.length), isForeign: false }
  const contract = prefixed ?? located.contract ?? contractOfPath
  rest = located.rest
  if (located.isForeign && ports.length > 1) {
    const other = contract === 'v3' ? 'v4' : 'v3'
    notes.push(`The path is taken as one of the ${contract} contract. For the other one, give ${other}: and the path.`)
  }
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(rest)) throw new Error('Give an http or https URL, or a path that begins with /.')
  if (!rest.startsWith('/')) rest = rest === '' || /^[?#]/.test(rest) ? `/${rest}` : addSlash(rest, notes)
  return { target: (contract === 'v4' ? 'v4:' : '') + encodeRest(rest, notes), notes }
}

/** A path alone is one of the v3 contract, if the edge serves it. */
function defaultContract(ports: readonly ClientPort[]): ClientPort['contract'] {
  const isV4Only = ports.length > 0 && ports.every(({ contract }) => contract === 'v4')
  return isV4Only ? 'v4' : 'v3'
}

function withoutQuotes(text: string): string {
  const [, inner] = /^(?:"(.*)"|'(.*)'|<(.*)>)$/.exec(text)?.filter((part) => part !== undefined) ?? []
  return (inner ?? text).trim()
}

/** Decodes a URL that was encoded as the value of a query, such as `https%3A%2F%2F…` or `%2Fagents%3Flimit%3D3`. */
function decodeWhole(text: string, notes: string[]): string {
  if (!/^(?:(?:https?|v3|v4)%3a|%2f)/i.test(text)) return text
  try {
    const decoded = decodeURIComponent(text)
    notes.push('The whole URL was percent-encoded. It was decoded once.')
    return decoded
  } catch {
    throw new Error('The URL is not valid percent-encoding.')
  }
}

/**
 * Returns what follows the origin, and the contract of the port that it is the address of. `isForeign`: the origin is that of no
 * port of the edge.
 */
function withoutOrigin(
  text: string,
  ports: readonly ClientPort[],
  notes: string[],
): { readonly rest: string; readonly contract?: ClientPort['contract']; readonly isForeign: boolean } {
  const [origin, scheme, named] = ORIGIN.exec(text) ?? []
  const [hostAlone] = HOST_WITH_PORT.exec(text) ?? []
  const host = named ?? hostAlone
  if (host === undefined) return { rest: text, isForeign: false }
  const given = URL.canParse(`${scheme ?? 'https'}://${host}`) ? new URL(`${scheme ?? 'https'}://${host}`) : undefined
  if (given === undefined) throw new Error(`${host} is not a valid host.`)
  const rest = text.slice((origin ?? hostAlone ?? '').length)
  const own = ports.flatMap(({ contract, url }) => (URL.canParse(url) ? [{ contract, url: new URL(url) }] : []))
  const found = own.find(({ url }) => (scheme === undefined ? given.host === url.host : given.origin === url.origin))
  if (found !== undefined) return { rest, contract: found.contract, isForeign: false }
  const address = scheme === undefined ? host : given.origin
  const ownAddresses = own.map(({ url }) => url.origin).join(', ')
  notes.push(
    `${address} is not the address of this edge${ownAddresses === '' ? '' : ` (${ownAddresses})`}. The answer is that of this edge.`,
  )
  return { rest, isForeign: true }
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
