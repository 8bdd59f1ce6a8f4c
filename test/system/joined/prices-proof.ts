/**
 * What one read of a client costs at 3,000 agents: at most two calls for each node and ten more. Each read is sent with an empty
 * cache, plain, with parameters of each kind, and as pages.
 */
import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { priceOfRead } from '../../../src/core/request.ts'
import { columnsOf, MEASURE, PRICES_DOCUMENT, pricedReads, pricesOfReads, type Way, wayOf } from './read-prices.ts'

const CLUSTER = { agents: 3000, workers: 2 }
const PRICE = 2 * (CLUSTER.workers + 1) + 10

export async function provePrices(t: Test, way: Way): Promise<void> {
  t.equal(PRICE, priceOfRead(CLUSTER.workers + 1), 'as docs/cluster.md states it')
  const page = readFileSync(PRICES_DOCUMENT, 'utf8')
  const ofWay = columnsOf(page).map((column) => wayOf(column) === way)
  const listed = new Map(pricedReads(page))
  let [reads, cut] = [0, 0]
  /** The most calls of each path, and of each parameter. */
  const most = new Map<string, number>()
  for await (const read of pricesOfReads(t, CLUSTER, way, { hasParameters: true })) {
    const { path, parameter, target, calls, ownerCalls, headers, text } = read
    for (const name of [path, parameter ?? path]) most.set(name, Math.max(most.get(name) ?? 0, calls.length))
    // An error of the edge would cost no call.
    t.notMatch(text, /"error":9\d\d,/, target)
    t.ok(calls.length + ownerCalls <= PRICE, `${target}: ${calls.length} and ${ownerCalls} calls of ${PRICE}`, {
      calls,
    })
    if (parameter !== undefined) continue
    reads += 1
    const cells = (listed.get(path) ?? []).filter((_, at) => ofWay[at])
    if (cells.every((cell) => Number.parseInt(cell, 10) === 1))
      t.equal(calls.length, 1, `${path} costs one call, as ${PRICES_DOCUMENT} says, or ${MEASURE}`)
    // Nodes of the v4 layout join the rows of all agents for clients of the v4 contract.
    if (!path.startsWith('/experimental/') || way.contract === 'v4') continue
    const { data } = JSON.parse(text)
    // A node of the v4 layout takes lists of agents, so that few rows of each of 3,000 agents are within the price.
    if (way.layout === 'v4' && data.covered_agents === undefined) continue
    cut += 1
    t.match(data.covered_agents, { covered: Number, all: Number }, target)
    t.ok(data.covered_agents.covered < data.covered_agents.all)
    t.ok(headers.get('cluster-status')?.includes(`*;agents=${data.covered_agents.covered};all-agents=`))
    t.notMatch(headers.get('cache-status'), /stored/)
  }
  t.ok(way.contract === 'v4' || cut > 0, `${cut} responses that cover some agents`)
  const uncalled = [...most].flatMap(([name, calls]) => (calls === 0 ? [name] : []))
  t.strictSame(uncalled, [], 'each read and each parameter reached a node')
  t.ok(reads > 80, `${reads} reads`)
}
