/**
 * Replays the session of operators (`npm run bench:session`): 50 clients open the dashboard, and page, sort, filter and
 * search agents, packages and rules, through two replicas with one Redis, in front of a cluster as slow as a real one
 * (`bench:clients` describes it). Each round replays the same requests without snapshots and with them.
 *
 * Every response is verified: status, error number, number of rows, repeated rows. Some responses that were computed from
 * a snapshot are compared with the response of the node.
 *
 * Operators think for a second, as the clients of `bench:clients` do. If they think longer (`--think`), fewer queries
 * come within one TTL, and snapshots save fewer calls.
 *
 * A run ends when all requests are answered. Without snapshots the nodes are overloaded: this run takes half an hour, and
 * requests that are rejected for it (502, 503, 504) are sent again after `Retry-After`.
 *
 * Ends with code 1 if the calls with snapshots are not at least five times fewer, or after any error.
 */
import type { SimulatorOptions } from '../../packages/simulator/src/index.ts'
import { readOptions } from '../support/script-options.ts'
import { planOf } from './session/plan.ts'
import { printCalls, printGoals, printRun } from './session/report.ts'
import { runSession, type SessionRun } from './session/run.ts'

const { values } = readOptions({
  name: 'bench:session',
  purpose: 'Replays the session of operators without snapshots of collections and with them, and counts node calls.',
  options: {
    clients: { kind: 'number', meaning: 'number of operators (default 50)' },
    seconds: { kind: 'number', value: 'SECONDS', meaning: 'duration of a session without waiting (default 300)' },
    seed: { kind: 'number', meaning: 'seed of the requests (default 1)' },
    think: { kind: 'number', value: 'SECONDS', meaning: 'mean time between two requests of an operator (default 1)' },
    rounds: { kind: 'number', meaning: 'pairs of runs (default 1)' },
    agents: { kind: 'number', meaning: 'agents of the cluster (default 500)' },
    'viewed-agents': { kind: 'number', meaning: 'agents whose packages are opened (default 3)' },
    scale: { kind: 'number', value: 'FACTOR', meaning: 'how many times faster than a real node a node is (default 1)' },
  },
})
const { clients = 50, seconds = 300, seed = 1, think = 1, rounds = 1, agents = 500, scale = 1 } = values
const viewedAgents = values['viewed-agents'] ?? 3
const say = (text: string): void => console.log(text)

const cluster: SimulatorOptions = {
  workers: 2,
  agents,
  capacity: { scale, work: 0.4, atOnce: 4, machines: 'own' },
}
const plans = planOf({ clients, seconds, seed, think, viewedAgents })
const requests = plans.reduce((sum, plan) => sum + plan.length, 0)
say(
  `seed ${seed}: ${clients} clients, ${requests} requests, ${think} s between two, ${agents + 1} agents, packages of ${viewedAgents} agents,`,
)
say(`3 nodes, each ${scale} times as fast as a real node`)

const pairs: [off: SessionRun, on: SessionRun][] = []
for (let round = 0; round < rounds; round += 1) {
  const options = { plans, rampSeconds: Math.min(10, seconds / 5), cluster, seed, samples: 60 }
  const off = await runSession({ ...options, snapshots: false })
  printRun(off, say)
  const on = await runSession({ ...options, snapshots: true })
  printRun(on, say)
  printCalls(off, on, say)
  pairs.push([off, on])
}
process.exitCode = printGoals(pairs, say) ? 0 : 1
