/**
 * What reads of large fleets cost (`npm run bench:fleet`): calls of the nodes, time, CPU time of the edge, its longest turn and its
 * memory, for the first and the second time of each read, through two replicas with one Redis. Each response is compared
 * with that of the node. Ends with code 1 if a read takes more calls or a longer turn than its law allows.
 */
import { writeFileSync } from 'node:fs'
import { readOptions } from '../support/script-options.ts'
import { type Cost, measureFleet } from './fleet/measure.ts'
import { measurePrices, pageOf } from './fleet/prices.ts'
import { type FleetMode, modes } from './fleet/reads.ts'

const { values, refuse } = readOptions({
  name: 'bench:fleet',
  purpose: 'Measures what reads of clusters with many agents cost.',
  options: {
    agents: { kind: 'text', value: 'N,N', meaning: 'numbers of agents (default 1000,10000,50000)' },
    workers: { kind: 'number', meaning: 'workers of the cluster (default 25)' },
    work: { kind: 'number', value: 'SECONDS', meaning: 'processor time of each call of a node (default: none)' },
    mode: {
      kind: 'text',
      value: Object.keys(modes).join('|'),
      meaning: 'mode or layout of the nodes, or contract of the clients (default manager)',
    },
    only: { kind: 'pattern', meaning: 'measure the reads whose name matches' },
    prices: { kind: 'flag', meaning: 'print the calls of every read instead, at 3,000 and 50,000 agents' },
    write: { kind: 'text', value: 'FILE', meaning: 'with --prices: also write the page of the documents to FILE' },
  },
})
const {
  agents = values.prices ? '3000,50000' : '1000,10000,50000',
  workers = 25,
  work = 0,
  only,
  prices,
  write,
} = values
const named = Object.keys(modes).find((name): name is FleetMode => name === (values.mode ?? 'manager'))
const mode = named ?? refuse(`--mode needs one of ${Object.keys(modes).join(', ')}, got "${values.mode}"`)
const fleets = agents.split(',').map(Number)
if (!fleets.every((count) => Number.isSafeInteger(count) && count > 0))
  refuse(`--agents needs numbers, got "${agents}"`)

const MAX_TURN_MS = 20

function cellsOf({ calls, ms, cpu, turn, memory }: Cost): string {
  return [calls, Math.round(ms), Math.round(cpu), turn.toFixed(1), Math.round(memory / 1_000_000)].join(' · ')
}

const missed: string[] = []
if (prices) {
  const found = await measurePrices(fleets.map((count) => ({ agents: count, workers })))
  console.log([...found.table, '', ...found.summary].join('\n'))
  missed.push(...found.missed)
  if (write !== undefined) writeFileSync(write, pageOf(found, workers))
}
for (const count of prices ? [] : fleets) {
  console.log(
    `\n${count.toLocaleString('en')} agents, ${workers} workers: calls · ms · ms of CPU · longest turn in ms · MB`,
  )
  console.log('| read | calls allowed | first, through one replica | second, through the other |\n|---|---|---|---|')
  for await (const { read, first, second } of measureFleet({ agents: count, workers, work, mode, only })) {
    console.log(`| ${read.name} | ${read.calls} | ${cellsOf(first)} | ${cellsOf(second)} |`)
    const miss = (what: string) => missed.push(`${count} agents, ${read.name}: ${what}`)
    if (first.calls > read.calls) miss(`${first.calls} calls, at most ${read.calls}`)
    if (second.calls > (read.isOfAllAgents ? read.calls : 0)) miss(`${second.calls} calls the second time`)
    const turn = Math.max(first.turn, second.turn)
    if (turn > MAX_TURN_MS) miss(`a turn of ${turn.toFixed(1)} ms, at most ${MAX_TURN_MS}`)
  }
}
console.log(
  missed.length === 0 ? '\nall goals reached' : `\ngoals missed\n${missed.map((goal) => `  ${goal}`).join('\n')}`,
)
process.exitCode = missed.length === 0 ? 0 : 1
