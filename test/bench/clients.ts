/**
 * Many clients on a manager as slow and frail as a real one (`npm run bench:clients`): the dashboard of
 * `clients/session.ts` without the edge, and through two replicas of the edge with one Redis and the default settings.
 *
 * The real cluster that the simulator replaces needs 0.4 s of processor time per call on two cores that its nodes share,
 * answers about four calls per second, and collapses beyond four calls at once. In the simulator, more than four calls
 * at once complete two per second, as uncached calls of the real cluster did; with its own cache the real cluster
 * answered three to four requests per second of 10 to 100 clients. This concerns the rows without the edge only.
 *
 * The simulated work passes on timers and needs no processor time: generator, replicas, Redis and simulator have only the
 * cores of this machine. The report names the processor time of each, and the delay of requests to a server that answers
 * at once, so that a busy machine is not taken for a slow edge.
 *
 * With `--layout v4` the nodes have the v4 layout, with its tokens and its limit of 300 requests per minute. Their calls
 * need the time that was measured on a real cluster: 9 ms for most of them, 400 ms for rules, 185 ms for packages, 130 ms for a
 * login. With `--contract v4`, the clients have the dashboard of releases 4.x too: four users of the manager, two
 * roles, and a login of each client every 15 minutes.
 *
 * With `--users 100`, each client is another user of the manager: five roles, an own login, and refusals by rights.
 *
 * Ends with code 1 if a row through the edge misses a goal, for example if a node got more calls than its limit.
 */
import type { SimulatorOptions } from '../../packages/simulator/src/index.ts'
import { readOptions } from '../support/script-options.ts'
import { measureEntries } from './clients/entries.ts'
import { startEcho } from './clients/parties.ts'
import { printDetails, printGoals, printHeader, printRow } from './clients/report.ts'
import { measure, type Row } from './clients/rows.ts'
import { sessionOfUsers, sessions } from './clients/session.ts'

const { values, refuse } = readOptions({
  name: 'bench:clients',
  purpose: 'Measures what many clients of a slow manager receive, without the edge and with two replicas of it.',
  options: {
    quick: { kind: 'flag', meaning: 'fewer rows for a shorter time' },
    clients: { kind: 'number', meaning: 'measure only this number of clients, through the edge' },
    seconds: { kind: 'number', value: 'SECONDS', meaning: 'duration of each row (default 60, with --quick 10)' },
    users: {
      kind: 'number',
      meaning: 'measure only this number of users of the manager with five roles, through the edge',
    },
    agents: { kind: 'number', meaning: 'agents of the cluster (default 100)' },
    layout: { kind: 'text', value: 'v3|v4', meaning: "layout of the nodes' API (default v3)" },
    contract: {
      kind: 'text',
      value: 'v3|v4',
      meaning: 'contract of the clients (default v3); v4 needs nodes of the v4 layout, and implies them',
    },
    ttl: { kind: 'number', value: 'SECONDS', meaning: 'cache.ttl of the groups manager and cluster (default 1)' },
    entries: { kind: 'flag', meaning: 'measure instead through which nodes reads should enter a busy cluster' },
    machines: {
      kind: 'text',
      value: 'own|shared',
      meaning: 'whether each node has its own two cores (default shared)',
    },
  },
})
const { quick, users, agents = 100, machines = 'shared', ttl } = values
const { clients = users, contract = users === undefined ? 'v3' : 'v4' } = values
if (contract !== 'v3' && contract !== 'v4') refuse(`--contract needs v3 or v4, got "${contract}"`)
const { layout = contract } = values
if (layout !== 'v3' && layout !== 'v4') refuse(`--layout needs v3 or v4, got "${layout}"`)
if (contract === 'v4' && layout === 'v3') refuse('--contract v4 needs nodes of the v4 layout')
if (users !== undefined && contract === 'v3') refuse('--users needs --contract v4')
/** A window of 60 s shows whether the limit per minute is kept. */
const { seconds = layout === 'v4' ? (quick ? 70 : 150) : quick ? 10 : 60 } = values
if (machines !== 'own' && machines !== 'shared') refuse(`--machines needs own or shared, got "${machines}"`)
/** A node checks seven passwords a second. */
const warmUp = Math.max(quick ? 6 : 15, (users ?? 0) / 2)
const directRows = quick ? [10] : [10, 100]
const edgeRows = quick ? [100, 1_000] : [10, 100, 1_000, 10_000]
const say = (text: string): void => console.log(text)

/** What a node of the v4 layout answers, of all clients together. */
const REQUESTS_PER_MINUTE = 300

const cluster: SimulatorOptions = {
  workers: 2,
  agents,
  capacity: { work: 0.4, atOnce: 4, machines: machines === 'own' ? 'own' : 'shared' },
  ...(layout === 'v4' && { layout: 'v4' as const, v4: { requestsPerMinute: REQUESTS_PER_MINUTE } }),
}
const wanted = [
  ...(clients === undefined && (layout === 'v3' || contract === 'v4') ? directRows : []).map((number) => ({
    way: 'direct' as const,
    clients: number,
  })),
  ...(clients !== undefined ? [clients] : layout === 'v4' ? [1_000] : edgeRows).map((number) => ({
    way: 'edge' as const,
    clients: number,
  })),
]

async function measureSession(): Promise<boolean> {
  const echo = await startEcho()
  const rows: Row[] = []
  const ofContract = sessions[contract === 'v4' ? 'v4' : 'v3']
  const session = users === undefined ? ofContract : sessionOfUsers(users)
  say(
    `3 nodes on ${machines === 'own' ? 'their own machines' : 'one machine'}, ${agents + 1} agents, ${seconds} s per row`,
  )
  printHeader(say)
  for (const { way, clients } of wanted) {
    const row = await measure({ session, way, clients, seconds, warmUp, cluster, echo: echo.url, ...(ttl && { ttl }) })
    printRow(row, say)
    rows.push(row)
  }
  for (const row of rows) printDetails(row, say)
  echo.close()
  return printGoals(rows, say)
}

if (values.entries) await measureEntries(quick ? 5 : 15, say)
else process.exitCode = (await measureSession()) ? 0 : 1
