import type { Endpoint } from '../catalogue/endpoint.ts'
import { parseEnvelope } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import { type Caller, type EdgeRequest, type Handler, priorityOf } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { ownField, ownText } from '../core/values.ts'

/** Where an agent reports to, and the one error for what is not known of it. */

/** `never`: it has not connected yet. `nowhere`: it has, and the master does not say where. */
export type Home = { readonly kind: 'node'; readonly node: string } | { readonly kind: 'never' | 'nowhere' }

/** By id. */
export type Homes = ReadonlyMap<string, Home>

/** Every node is `000` to itself; under that id clients mean the master. */
export const MANAGER = '000'

const NOT_KNOWN = 931
/** Seconds after which the master may know. */
const RETRY_AFTER = '5'

/** `cause`: the fault that kept the master from saying it; its own headers hold. */
export function notKnown(why: string, cause?: EdgeError): EdgeError {
  const headers = { 'retry-after': RETRY_AFTER, ...cause?.headers }
  return new EdgeError(NOT_KNOWN, ` (${why})`, { headers, ...(cause && { cause }) })
}

export function isNotKnown(fault: unknown): fault is EdgeError {
  return fault instanceof EdgeError && fault.code === NOT_KNOWN
}

/** What the master is asked about agents: where all of them report to, some of them, or the members of a group. */

/** The records of the calls that owners are learnt by. */
export interface OwnerRecords {
  /** `GET /agents` */
  readonly agents: Endpoint
  /** `GET /agents/groups/:group_id` */
  readonly members: Endpoint
}

export interface InquiryPorts {
  readonly records: OwnerRecords
  /** The road of reads. */
  readonly read: Handler
}

/** `age`: milliseconds that the oldest part of it was kept. */
interface Everyone {
  readonly homes: Map<string, Home>
  readonly age: number
}
type Members = { readonly homes: Homes } | { readonly refusal: EdgeResponse }

const PAGE = 1000
const FIELDS = 'id,node_name,status'
/** Ids of one question: the URL stays well below what the real API takes. */
const AT_ONCE = 100
/** No cluster has more agents: a list that goes on and on is no list. */
const MOST_PAGES = 1000

export function createInquiries({ records, read }: InquiryPorts) {
  return {
    /** All agents, out of what is kept where it is fresh. Throws 931. */
    everyone: async (ask: EdgeRequest): Promise<Everyone> => {
      // For everybody, whoever comes first: it goes on when that one leaves, and does not wait behind its other calls.
      const { caller, ...rest } = ours(ask, records.agents)
      const name = caller.credentials === undefined ? 'manager-edge' : caller.name
      const { signal } = new AbortController()
      const own: EdgeRequest = { ...rest, caller: { ...caller, name }, priority: 'interactive', signal }
      const { homes, age } = await pages(own, read)
      return { homes, age }
    },
    /** These agents, as they are now; those that do not exist are not in it. Throws 931. */
    these: async (ids: readonly string[], ask: EdgeRequest): Promise<Homes> => {
      const homes = new Map<string, Home>()
      for (let at = 0; at < ids.length; at += AT_ONCE) {
        const q = ids.slice(at, at + AT_ONCE).map((id) => `id=${id}`)
        const own = { ...anew(ours(ask, records.agents)), query: { q: q.join(','), select: FIELDS, limit: `${PAGE}` } }
        for (const [id, home] of rowsOf(contents(await asked(own, read)).data)) homes.set(id, home)
      }
      return homes
    },
    /** Members of a group as they are now, or the answer in which the master refuses. Throws 931. */
    membersOf: async (group: string, ask: EdgeRequest): Promise<Members> => {
      const own = { ...anew(ours(ask, records.members)), params: { group_id: group } }
      const first = await asked({ ...own, query: { select: FIELDS, limit: `${PAGE}` } }, read)
      if (parseEnvelope(first).error !== 0) return { refusal: first }
      return { homes: (await pages(own, read, first)).homes }
    },
  }
}

/**
 * A call of the edge's own, on behalf of the caller and as urgent as what it is for. With passthrough there are no
 * credentials but the caller's.
 */
function ours(onBehalf: EdgeRequest, endpoint: Endpoint): EdgeRequest {
  const {
    caller: { name, credentials },
    requestId,
    signal,
    trace,
  } = onBehalf
  const caller: Caller = { name, permissions: ['*:*'], ...(credentials && { credentials }) }
  const load = priorityOf(onBehalf)
  return {
    endpoint,
    params: {},
    query: {},
    caller,
    priority: load,
    waitForComplete: false,
    requestId,
    signal,
    ...(trace && { trace }),
  }
}

function anew(ask: EdgeRequest): EdgeRequest {
  return { ...ask, directives: { noCache: true, noStore: false } }
}

async function pages(own: EdgeRequest, read: Handler, first?: EdgeResponse): Promise<Everyone> {
  const homes = new Map<string, Home>()
  let age = 0
  let total = 1
  for (let page = 0; page * PAGE < total && page < MOST_PAGES; page += 1) {
    const query = { select: FIELDS, limit: `${PAGE}`, offset: `${page * PAGE}` }
    const answer = page === 0 && first !== undefined ? first : await asked({ ...own, query }, read)
    const { data } = contents(answer)
    if (answer.kind === 'json') age = Math.max(age, answer.cached?.response.age ?? 0)
    total = Number(ownField(data, 'totalItems'))
    for (const [id, home] of rowsOf(data)) homes.set(id, home)
  }
  return { homes, age }
}

/** Whatever keeps the master from saying it is one thing to whoever asks for an agent: its owner is not known. */
async function asked(own: EdgeRequest, read: Handler): Promise<EdgeResponse> {
  try {
    return await read(own)
  } catch (fault) {
    own.signal.throwIfAborted()
    if (!(fault instanceof EdgeError)) throw fault
    // Credentials that are wrong, and callers who ask too much, have codes of their own.
    if (fault.code === 901 || fault.code === 903) throw fault
    throw notKnown(fault.message, fault)
  }
}

function contents(answer: EdgeResponse): { readonly data?: unknown } {
  const { error, message, data } = parseEnvelope(answer)
  if (error === 0) return { data }
  throw notKnown(`the master answers ${error}: ${message ?? ''}`)
}

function rowsOf(data: unknown): readonly (readonly [string, Home])[] {
  const items = ownField(data, 'items')
  if (!Array.isArray(items)) throw notKnown('the master gave no list of agents')
  return items.flatMap((row) => {
    const id = ownText(row, 'id')
    return id === undefined ? [] : [[id.padStart(3, '0'), homeOf(row)] as const]
  })
}

function homeOf(row: unknown): Home {
  // As the newer release writes it, too.
  if (/^never[ _]connected$/i.test(ownText(row, 'status') ?? '')) return { kind: 'never' }
  const node = ownText(row, 'node_name')
  return node === undefined || node === '' || node === 'unknown' ? { kind: 'nowhere' } : { kind: 'node', node }
}
