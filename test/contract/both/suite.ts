/** Sends every request of the contract through an edge in front of either layout. */
import type { Test } from 'tap'
import type { Layout } from '../../../packages/simulator/src/index.ts'
import { contract } from '../facts.ts'
import { differenceOf, factsOf, faultsOf } from './check.ts'
import { knownDifferences } from './differences.ts'
import { type ContractEdge, type Mode, type Outcome, startContractEdge } from './edge.ts'
import { type ContractRequest, plain } from './plain.ts'
import { endpoints, requestsFor } from './requests.ts'

/** Reads may overtake each other. A write must find what the previous one left. */
const READS_AT_ONCE = 4

type Outcomes = ReadonlyMap<ContractRequest, Outcome>

export async function runContractSuite(t: Test, mode: Mode): Promise<void> {
  t.equal(endpoints.length, contract.meta.counts.endpoints, 'every endpoint of the interface document')
  const now = new Date()
  const edges = {
    v3: await startContractEdge('v3', mode, now),
    v4: await startContractEdge('v4', mode, now),
  }
  t.teardown(() => Promise.all([edges.v3.close(), edges.v4.close()]))
  const requests = await makeRequests(edges.v3)
  const outcomes = {
    v3: await sendAll(edges.v3, requests),
    v4: await sendAll(edges.v4, requests),
  }
  for (const layout of ['v3', 'v4'] as const) {
    t.test(`the ${layout} layout meets the contract`, (t) => meetsContract(t, layout, outcomes[layout]))
    t.strictSame(edges[layout].thrown, [], `nothing failed inside the simulated ${layout} nodes`)
  }
  t.test('both layouts give the same status, code, form and total', (t) => areEqual(t, outcomes))
}

/** Takes the values of filters from the rows that the v3 nodes return. */
async function makeRequests(edge: ContractEdge): Promise<ContractRequest[]> {
  const requests: ContractRequest[] = []
  for (const endpoint of endpoints) {
    const row = endpoint.method === 'GET' ? firstRow(await edge.send(plain(endpoint))) : undefined
    requests.push(...requestsFor(endpoint, row))
  }
  return requests
}

function firstRow({ text }: Outcome): unknown {
  const { data } = JSON.parse(text) as { readonly data?: { readonly items?: readonly unknown[] } }
  return data?.items?.[0]
}

async function sendAll(edge: ContractEdge, requests: readonly ContractRequest[]): Promise<Outcomes> {
  const outcomes = new Map<ContractRequest, Outcome>()
  const isRead = ({ endpoint }: ContractRequest) => endpoint.method === 'GET'
  const sendInTurn = async (list: Iterable<ContractRequest>) => {
    for (const request of list) outcomes.set(request, await edge.send(request))
  }
  const reads = requests.filter(isRead).values()
  await Promise.all(Array.from({ length: READS_AT_ONCE }, () => sendInTurn(reads)))
  await sendInTurn(requests.filter((request) => !isRead(request)))
  return outcomes
}

function meetsContract(t: Test, layout: Layout, outcomes: Outcomes): void {
  for (const endpoint of endpoints) {
    const faults = [...outcomes].flatMap(([request, outcome]) =>
      request.endpoint === endpoint ? faultsOf(request, outcome) : [],
    )
    t.strictSame(faults, [], `${endpoint.id} (${layout})`)
  }
  t.comment(`${outcomes.size} requests`)
  t.end()
}

function areEqual(t: Test, outcomes: Readonly<Record<Layout, Outcomes>>): void {
  const seen = new Set<RegExp>()
  for (const [request, v3] of outcomes.v3) {
    const v4 = outcomes.v4.get(request)
    if (v4 === undefined) throw new Error(`not sent: ${request.url}`)
    const difference = differenceOf(factsOf(v3), factsOf(v4))
    if (difference === undefined) continue
    const name = `${request.endpoint.id} ${request.what}`
    const known = knownDifferences.find((row) => row.requests.test(name) && row.difference === difference)
    if (known === undefined) t.fail(`${name} (${request.url}): ${difference}; ${v4.text.slice(0, 150)}`)
    else seen.add(known.requests)
  }
  const unused = knownDifferences.filter(({ requests }) => !seen.has(requests)).map(({ requests }) => String(requests))
  t.strictSame(unused, [], 'every known difference occurs')
  t.end()
}
