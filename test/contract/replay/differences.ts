import { type Exchange, json } from './exchanges.ts'

/** Intended differences between the edge and the recorded cluster, each with its reason. */
export interface Difference {
  readonly reason: string
  readonly when: (exchange: Exchange) => boolean
  /** The response of the edge instead. */
  readonly expect?: (exchange: Exchange) => { status: number; error?: number }
  /** Only the text of the message differs; status and code are the recorded ones. */
  readonly wordsOnly?: true
  /** Joined by the edge from several calls: tests of joined responses cover it. */
  readonly joined?: true
}

const code = (exchange: Exchange) => json(exchange.response.body)?.error
const header = (exchange: Exchange, name: string) => exchange.request.headers[name]
const type = (exchange: Exchange) => header(exchange, 'Content-Type') ?? ''
const path = (exchange: Exchange) => exchange.request.path

export const differences: readonly Difference[] = [
  {
    reason: 'the edge asks every node for its verdict; the cluster uses only the first worker that responds',
    when: (x) => path(x).startsWith('/cluster/configuration/validation'),
    joined: true,
  },
  {
    reason: 'the agent id filter is among the names that are listed (S13)',
    when: (x) => path(x).startsWith('/experimental/') && code(x) === 604,
    wordsOnly: true,
  },
  {
    reason: 'rows of all agents are read in other pages and joined by the edge (joined-collections.test.ts)',
    when: (x) =>
      path(x).startsWith('/experimental/') && x.response.status === 200 && ![1405, 1406].includes(Number(code(x))),
    joined: true,
  },
  {
    reason: 'CORS is off unless it is set',
    when: (x) => x.request.method === 'OPTIONS',
    expect: () => ({ status: 405, error: 905 }),
  },
  {
    reason: 'the error 607 is a Number like every other (seed, convention 1), not a text of digits',
    when: (x) => code(x) === '607' && !type(x).startsWith('application/json;') && path(x) !== '/nope',
    expect: () => ({ status: 400, error: 607 }),
  },
  {
    reason: 'application/json with charset=utf-8 is accepted, and `{}` misses the mandatory field',
    when: (x) => type(x) === 'application/json; charset=utf-8',
    expect: () => ({ status: 400, error: 604 }),
  },
  {
    reason: 'an unknown path is refused before its body is read',
    when: (x) => x.request.method === 'POST' && ['/nope', '/version'].includes(path(x)) && code(x) !== 603,
    expect: () => ({ status: 404, error: 603 }),
  },
  {
    reason: 'a body that is a list is refused as such, not as an object without the field',
    when: (x) => x.request.body === '[]' && code(x) === 604,
    expect: () => ({ status: 400, error: 614 }),
  },
  {
    reason: 'a body of a type that the endpoint does not take is refused by its type, where the real API fails inside',
    when: (x) => x.tag === 'post-error' && (code(x) === 3 || (code(x) === 703 && !type(x).includes('xml'))),
    expect: () => ({ status: 400, error: 607 }),
  },
  {
    reason: 'the type of a body is checked before the body',
    when: (x) => code(x) === 614 && path(x).startsWith('/manager/files'),
    expect: () => ({ status: 400, error: 804 }),
  },
  {
    reason: 'the type of a body is checked before the body',
    when: (x) => code(x) === 614 && path(x).endsWith('/configuration'),
    expect: () => ({ status: 400, error: 607 }),
  },
  {
    reason: '614 also names the fault of the body',
    when: (x) => code(x) === 614 && path(x) !== '/nope',
    wordsOnly: true,
  },
  {
    reason: 'the detail of 703 is the text of another parser',
    when: (x) => code(x) === 703 && type(x).includes('xml'),
    wordsOnly: true,
  },
  {
    reason: 'a node name is checked everywhere, also where the real API does not',
    when: (x) => path(x).startsWith('/cluster/no%20pe/') && code(x) === 3022,
    expect: () => ({ status: 400, error: 601 }),
  },
  {
    reason: 'an invalid hash is refused; the real filter accepts any text',
    when: (x) => /^\/syscheck\/.*[?&](?:sha1|sha256|md5|hash)=(?![0-9a-f]{32,64}(?:&|$))/.test(path(x)),
    expect: () => ({ status: 400, error: 613 }),
  },
]

/** Requests about the cache itself, or with a response from the cache: they need the requests that filled the cache. */
export function isOfCache(exchange: Exchange): boolean {
  return /^\/cache\b/i.test(path(exchange)) || exchange.response.status === 304
}

/** Differences of cache responses: `adapt` converts a recorded body into the body of the edge. */
export interface CacheDifference {
  readonly reason: string
  readonly when: (exchange: Exchange) => boolean
  readonly adapt?: (body: string) => string
  /** Fields of `data` that the edge adds after the recorded ones. */
  readonly added?: readonly string[]
  /** A condition with the entity tag of the edge replaces the recorded one. */
  readonly ownTag?: true
}

const lists = (exchange: Exchange, url: string) =>
  path(exchange).startsWith('/cache') && (exchange.response.body ?? '').includes(`"${url}"`)

export const cacheDifferences: readonly CacheDifference[] = [
  {
    reason: 'the edge makes its own strong entity tags, which clients send back',
    when: (x) => x.response.status === 304,
    ownTag: true,
  },
  {
    reason: 'the edge adds the lifetimes that apply',
    when: (x) => path(x) === '/cache/config' && x.response.status === 200,
    added: ['groups', 'endpoints'],
  },
  {
    reason: 'one entry serves every spelling of a URL, so it is listed in one of them, with its defaults',
    when: (x) => lists(x, '/agents?limit=1'),
    adapt: (body) => body.replaceAll('/agents?limit=1', '/agents?limit=1&offset=0'),
  },
  {
    reason: 'every stored response belongs to a group, so that a purge of the group removes it',
    when: (x) => lists(x, '/cluster/configuration/validation'),
    adapt: (body) => body.replace('"groups":{}', '"groups":{"validation":["/cluster/configuration/validation"]}'),
  },
]

export function differenceOf(exchange: Exchange): Difference | undefined {
  return differences.find((difference) => difference.when(exchange))
}
