/**
 * Which node an agent reports to. In mode `edge` only that node answers for it: any other is silently empty or claims
 * a success (contract/wire.md, last table), so what is not known is an error and never a guess.
 *
 * A table of all agents is learnt from the master by the road of reads and followed in the background; what must be
 * sure is asked of the master anew (`verified`).
 */
import { EdgeError } from '../errors.ts'
import { createInquiries, type Home, type InquiryPorts, NOT_KNOWN, RETRY_AFTER } from './owners-inquiries.ts'
import type { Ask, ClusterView } from './ports.ts'

export type { Home, OwnerRecords } from './owners-inquiries.ts'

export interface Owners {
  /** The node of an agent, out of the table. An id that nobody knows is the master's. Throws 931. */
  ownerOf(id: string, ask: Ask): Promise<string>
  /** The same, asked of the master now. Throws 931. */
  verifiedOwner(id: string, ask: Ask): Promise<string>
  /** Asked of the master now, for each id: its node, or why none may be asked. Throws 931 when the master cannot say. */
  verifiedOwners(ids: readonly string[], ask: Ask): Promise<ReadonlyMap<string, string | EdgeError>>
  /** Agents that report to a node, in the order of their ids; `000`, which every node is itself, is not among them. */
  agentsOf(node: string, ask: Ask): Promise<readonly string[]>
  /** Agents that have connected, but nobody knows where: what is joined over nodes lacks them. */
  agentsNowhere(ask: Ask): Promise<readonly string[]>
  /** Members of a group, asked of the master now, or the answer in which it refuses. Throws 931. */
  membersOf(group: string, ask: Ask): ReturnType<ReturnType<typeof createInquiries>['membersOf']>
}

export interface OwnersPorts extends InquiryPorts {
  readonly view: ClusterView
  /** Milliseconds that an answer about agents is fresh. */
  readonly fresh: number
  /** Milliseconds that the table may be older than that while the master cannot be asked. */
  readonly staleIfError: number
  /** Monotonic milliseconds. */
  readonly clock?: () => number
}

interface Table {
  readonly homes: Map<string, Home>
  readonly byNode: ReadonlyMap<string, readonly string[]>
  readonly nowhere: readonly string[]
  /** The moment that the oldest of its rows is of. */
  readonly asOf: number
  /** Milliseconds from which on it is learnt anew. */
  readonly pace: number
}

/** Learning may take this part of the time at most: for 100,000 agents it takes the master a hundred calls. */
const SHARE = 10
/** A table with answers that are not kept at all would be learnt for each request. */
const SHORTEST = 1000

export function createOwners(ports: OwnersPorts): Owners {
  const { view, clock = () => performance.now() } = ports
  const inquiries = createInquiries(ports)
  let table: Table | undefined
  let learning: Promise<Table> | undefined
  let failed: { readonly fault: EdgeError; readonly at: number } | undefined

  const learnt = async (ask: Ask): Promise<Table> => {
    const began = clock()
    try {
      const { homes, age } = await inquiries.everyone(ask)
      const pace = Math.max(ports.fresh, SHORTEST, (clock() - began) * SHARE)
      table = tableOf(homes, { asOf: began - age, pace })
      return table
    } catch (fault) {
      if (fault instanceof EdgeError && fault.code === NOT_KNOWN) failed = { fault, at: clock() }
      throw fault
    }
  }
  const learn = (ask: Ask): Promise<Table> => {
    // A master that just failed is not asked again by each request.
    if (failed !== undefined && clock() - failed.at < SHORTEST) return Promise.reject(failed.fault)
    learning ??= learnt(ask).finally(() => {
      learning = undefined
    })
    return learning
  }
  /** Fresh: as it is. Up to twice that: as it is, and learnt anew behind it. Older: learnt first, where that can be. */
  const current = async (ask: Ask): Promise<Table> => {
    const old = table
    if (old === undefined) return learn(ask)
    const age = clock() - old.asOf
    if (age < old.pace) return old
    const next = learn(ask)
    if (age >= old.pace + ports.staleIfError) return next
    const orOld = next.catch(() => old)
    return age < 2 * old.pace ? old : within(orOld, SHORTEST, old)
  }
  const nodeFor = (id: string, home: Home | undefined): string | EdgeError => placeOf(id, home, view)
  const verifiedOwners: Owners['verifiedOwners'] = async (ids, ask) => {
    const found = await inquiries.these(ids, ask)
    for (const id of ids) {
      const home = found.get(id)
      if (home === undefined) table?.homes.delete(id)
      else table?.homes.set(id, home)
    }
    return new Map(ids.map((id) => [id, nodeFor(id, found.get(id))]))
  }
  return {
    ownerOf: async (id, ask) =>
      sure(id === MANAGER ? view.master().name : nodeFor(id, (await current(ask)).homes.get(id))),
    verifiedOwner: async (id, ask) => {
      const found = id === MANAGER ? undefined : (await verifiedOwners([id], ask)).get(id)
      return sure(found ?? view.master().name)
    },
    verifiedOwners,
    agentsOf: async (node, ask) => (await current(ask)).byNode.get(node) ?? [],
    agentsNowhere: async (ask) => (await current(ask)).nowhere,
    membersOf: inquiries.membersOf,
  }
}

/** What comes in time, or what is there. */
async function within<T>(coming: Promise<T>, patience: number, instead: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(resolve, patience, instead)
  })
  try {
    return await Promise.race([coming, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Every node is `000` to itself; under that id clients mean the master. */
const MANAGER = '000'

function tableOf(homes: Map<string, Home>, { asOf, pace }: Pick<Table, 'asOf' | 'pace'>): Table {
  const byNode = new Map<string, string[]>()
  const nowhere: string[] = []
  const ids = [...homes.keys()].filter((id) => id !== MANAGER).sort((a, b) => Number(a) - Number(b))
  for (const id of ids) {
    const home = homes.get(id)
    if (home?.kind === 'nowhere') nowhere.push(id)
    if (home?.kind !== 'node') continue
    const list = byNode.get(home.node)
    if (list === undefined) byNode.set(home.node, [id])
    else list.push(id)
  }
  return { homes, byNode, nowhere, asOf, pace }
}

/** An id that is not in the list, or has never connected: all there is to say about it, the master says. */
function placeOf(id: string, home: Home | undefined, view: ClusterView): string | EdgeError {
  if (id === MANAGER || home === undefined || home.kind === 'never') return view.master().name
  if (home.kind !== 'node') return notKnown(`${id}: the master does not say where it reports to`)
  const node = view.find(home.node)
  if (node?.addressed) return node.name
  return notKnown(`${id}: ${home.node} has no address in cluster.nodes`)
}

function notKnown(why: string): EdgeError {
  return new EdgeError(NOT_KNOWN, ` (${why})`, { headers: { 'retry-after': RETRY_AFTER } })
}

function sure(node: string | EdgeError): string {
  if (node instanceof EdgeError) throw node
  return node
}
