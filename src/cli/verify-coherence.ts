/** `manager-edge verify-coherence`: shows on a running edge whether reads are older than an acknowledged write. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Nodes } from '../admin/console/node-types.ts'
import {
  type CoherenceClient,
  type CoherenceResult,
  createResult,
  type ReplicaDelays,
  runRounds,
  summarizeReads,
} from '../cache/coherence-rounds.ts'
import type { Contract } from '../catalogue/endpoint.ts'
import { firstSignal } from '../server/exit.ts'
import { type CoherenceGroup, createCoherenceGroup } from './coherence-group.ts'
import {
  type CredentialOptions,
  createEdgeClient,
  type EdgeClient,
  type EdgeClientOptions,
  parseOrigin,
  readCredentials,
  usageError,
  useOperations,
} from './edge-client.ts'
import { createProgressLine, printJson, printTable } from './output.ts'
import { CommandError, print, printError } from './terminal.ts'

export interface VerifyCoherenceOptions extends CredentialOptions {
  readonly url?: string
  readonly replica?: readonly string[]
  /** URL of the operations listener. */
  readonly operations?: string
  readonly rounds: number
  readonly contract: Contract
  readonly json?: true
}

interface Outcome {
  readonly result: CoherenceResult
  /** Which replicas the reads can have reached. */
  readonly scope: string
  /** Why there are fewer rounds than asked for, or what is left. */
  readonly failure?: string
}

export async function verifyCoherence(options: VerifyCoherenceOptions): Promise<void> {
  // Without a result, nothing is known: 2 as for wrong options.
  const { result, scope, failure } = await verify(options).catch((error: Error) => {
    throw usageError(error.message)
  })
  const replicas = result.replicas.map(summarizeReads)
  if (options.json) printJson({ ...jsonOf(result, replicas), scope, ...(failure !== undefined && { failure }) })
  else printResult(result, replicas, scope)
  const stale = sumOf(replicas, 'stale')
  if (failure !== undefined && stale > 0) printError(failure)
  if (stale > 0) {
    const remedy = 'check that all replicas use the same Redis (cache.redis)'
    throw new CommandError(`${stale} of ${sumOf(replicas, 'reads')} reads were stale; ${remedy}`)
  }
  if (failure !== undefined) throw usageError(failure)
}

const TIMEOUT_MS = 60_000
/** Connections to a balancer at least: it may choose another replica for each. */
const MIN_BALANCED_CLIENTS = 4

async function verify(options: VerifyCoherenceOptions): Promise<Outcome> {
  const isBalanced = options.replica === undefined
  const urls = parseUrls(options)
  const operations = options.operations === undefined ? undefined : parseOrigin('--operations', options.operations)
  const connection = { ...(await readCredentials(options)), connections: 1, timeoutMs: TIMEOUT_MS }
  const replicas = operations && (await countReplicas({ ...connection, url: operations }))
  const perUrl = isBalanced ? Math.max(MIN_BALANCED_CLIENTS, replicas ?? 0) : 1
  const clients: EdgeClient[] = []
  try {
    for (const url of urls) {
      // Each client logs in itself: replicas with different keys do not accept the tokens of each other.
      for (let count = 0; count < perUrl; count++)
        clients.push(createEdgeClient({ ...connection, url, contract: options.contract }))
    }
    const scope = describeScope(isBalanced, urls.length, replicas)
    return { ...(await runWithGroup(clients, options)), scope }
  } finally {
    await Promise.all(clients.map((client) => client.close()))
  }
}

function parseUrls({ url, replica }: VerifyCoherenceOptions): readonly URL[] {
  if ((url === undefined) === (replica === undefined)) throw usageError('give --url, or --replica for each replica')
  if (url !== undefined) return [parseOrigin('--url', url)]
  const urls = (replica ?? []).map((each) => parseOrigin('--replica', each))
  if (urls.length > 1 && new Set(urls.map(({ origin }) => origin)).size === urls.length) return urls
  throw usageError('give --replica at least twice, with different URLs, or --url for the address of a balancer')
}

/** Returns how many replicas the edge has; `undefined`: the replica that answers cannot reach Redis. */
function countReplicas(connection: EdgeClientOptions): Promise<number | undefined> {
  return useOperations(createEdgeClient(connection), async ({ read }) => {
    const { replicas = [] } = await read<Nodes>('/api/nodes')
    return replicas === null ? undefined : replicas.length + 1
  })
}

function describeScope(isBalanced: boolean, urls: number, replicas: number | undefined): string {
  const count =
    replicas === undefined ? 'an unknown number of replicas' : `${replicas} replica${replicas > 1 ? 's' : ''}`
  if (isBalanced)
    return `only the replicas that the balancer chose were seen; the edge has ${count}. Name each with --replica`
  return replicas === urls
    ? `all ${urls} replicas of the edge were seen`
    : `${urls} named replicas were seen; the edge has ${count}`
}

/** Runs the rounds, and removes the group after them, after a failure and after a signal. */
async function runWithGroup(
  clients: readonly EdgeClient[],
  { rounds, contract }: VerifyCoherenceOptions,
): Promise<Omit<Outcome, 'scope'>> {
  const group = createCoherenceGroup(contract)
  // A wrong address or a missing permission is found before the first write.
  for (const client of clients) await group.read(client)
  const stop = new AbortController()
  void firstSignal(() => printError(describeLeftover(group))).then(() => stop.abort())
  const through = clients.map((client) => clientOf(client, group))
  const result = createResult(through)
  const progress = createProgressLine()
  const failures: string[] = []
  try {
    await runRounds(
      {
        clients: through,
        rounds,
        remedy: 'check cache.enabled and cache.ttl.agents',
        sleep: (ms) => sleep(ms, undefined, { signal: stop.signal }),
        onRound: (round) => progress.showPart(round - 1, rounds, 'rounds'),
      },
      result,
    )
  } catch (error) {
    failures.push(stop.signal.aborted ? 'interrupted' : (error as Error).message)
  }
  progress.clear()
  if (result.rounds < rounds) failures.push(`stopped after ${result.rounds} of ${rounds} rounds`)
  if (!(await removeGroup(group, clients))) failures.push(describeLeftover(group))
  return { result, ...(failures.length > 0 && { failure: failures.join('; ') }) }
}

function clientOf(client: EdgeClient, group: CoherenceGroup): CoherenceClient {
  return {
    replica: client.origin,
    read: () => group.read(client),
    write: (round) => (round === 0 ? group.create(client) : group.configure(client, round)),
  }
}

const REMOVE_ATTEMPTS = 3
const REMOVE_PAUSE_MS = 1000

async function removeGroup(group: CoherenceGroup, clients: readonly EdgeClient[]): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    for (const client of clients) if (await group.remove(client).catch(() => false)) return true
    if (attempt === REMOVE_ATTEMPTS) return false
    await sleep(REMOVE_PAUSE_MS)
  }
}

function describeLeftover({ name, removal }: CoherenceGroup): string {
  return `the group ${name} may be left; send ${removal}`
}

function sumOf(replicas: readonly ReplicaDelays[], field: 'reads' | 'stale'): number {
  return replicas.reduce((sum, replica) => sum + replica[field], 0)
}

/** Replicas have URLs here. */
function jsonOf({ staleReads, ...result }: CoherenceResult, replicas: readonly ReplicaDelays[]) {
  const withUrl = <Row extends { readonly replica: string }>({ replica: url, ...row }: Row) => ({ url, ...row })
  return { ...result, replicas: replicas.map(withUrl), staleReads: staleReads.map(withUrl) }
}

/** Stale responses that are printed. `--json` has all of them. */
const MAX_PRINTED = 20

function printResult({ rounds, staleReads }: CoherenceResult, replicas: readonly ReplicaDelays[], scope: string) {
  printTable(
    [
      { title: 'REPLICA', cell: ({ replica }: ReplicaDelays) => replica },
      { title: 'READS', cell: ({ reads }: ReplicaDelays) => reads },
      { title: 'STALE', cell: ({ stale }: ReplicaDelays) => stale },
      { title: 'MEDIAN DELAY MS', cell: ({ medianDelayMs }: ReplicaDelays) => medianDelayMs ?? '-' },
      { title: 'MAX DELAY MS', cell: ({ maxDelayMs }: ReplicaDelays) => maxDelayMs ?? '-' },
    ],
    replicas,
  )
  for (const { round, replica, writtenThrough, afterMs, requestId = '-', cacheStatus } of staleReads.slice(
    0,
    MAX_PRINTED,
  ))
    print(
      `stale: round ${round}, ${replica}, ${afterMs} ms after the write through ${writtenThrough}; request ${requestId}, Cache-Status: ${cacheStatus}`,
    )
  print(`${rounds} rounds, ${sumOf(replicas, 'stale')} stale reads; ${scope}`)
}
