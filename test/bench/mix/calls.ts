/**
 * The requests of many clients: each loads a page of six calls every
 * half minute, one of twenty watches a log view, one of a hundred pages through all agents, one of a thousand writes.
 * Arrivals are random, as with many people, and do not wait for responses.
 */

export interface ClientCall {
  readonly kind: 'page' | 'log' | 'all' | 'write'
  readonly method: string
  readonly path: string
}

export interface Mix {
  readonly clients: number
  /** The number of agents in the cluster. */
  readonly agents: number
  /** The number of agents whose pages (agent, sync) people open. */
  readonly viewedAgents: number
  readonly nodes: readonly string[]
}

/** Seconds between two pages of a client. */
const PAGE = 30
const ROWS = 500

/** Returns the calls per second of the mix. */
export function rateOf({ clients, agents }: Mix): number {
  const all = (0.01 * clients * Math.ceil((agents + 1) / ROWS)) / PAGE
  return (6 * clients) / PAGE + 0.05 * clients + all + (0.001 * clients) / PAGE
}

/** Calls `begin` for each action when it is due, until stopped; the calls of one page start together. */
export function arrivals(mix: Mix, begin: (calls: readonly ClientCall[], sequence: boolean) => void): () => void {
  const { clients } = mix
  const stops = [
    poisson(clients / PAGE, () => begin(page(mix), false)),
    poisson(0.05 * clients, () => begin([log(mix)], false)),
    poisson((0.01 * clients) / PAGE, () => begin(allAgents(mix), true)),
    poisson((0.001 * clients) / PAGE, () => begin([write(mix)], false)),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

const get = (kind: ClientCall['kind'], path: string): ClientCall => ({ kind, method: 'GET', path })

function page(mix: Mix): ClientCall[] {
  const id = agentOf(mix)
  const paths = ['/agents?limit=500', '/agents/summary', '/manager/status', '/manager/info']
  return [...paths, `/agents/${id}`, `/agents/${id}/group/is_sync`].map((path) => get('page', path))
}

function log({ nodes }: Mix): ClientCall {
  const node = nodes[Math.floor(Math.random() * nodes.length)]
  return get('log', `/cluster/${node}/logs?limit=10`)
}

function allAgents({ agents }: Mix): ClientCall[] {
  const pages = Math.ceil((agents + 1) / ROWS)
  return Array.from({ length: pages }, (_, i) => get('all', `/agents?offset=${i * ROWS}&limit=${ROWS}`))
}

function write(mix: Mix): ClientCall {
  const method = Math.random() < 0.5 ? 'PUT' : 'DELETE'
  return { kind: 'write', method, path: `/agents/${agentOf(mix)}/group/web` }
}

function agentOf({ viewedAgents }: Mix): string {
  return String(1 + Math.floor(Math.random() * viewedAgents)).padStart(3, '0')
}

/** Timers are too coarse for single calls, so each tick starts all calls that have become due. */
function poisson(rate: number, begin: () => void): () => void {
  const gap = () => (-Math.log(1 - Math.random()) / rate) * 1000
  let due = performance.now() + gap()
  const timer = setInterval(() => {
    for (; due <= performance.now(); due += gap()) begin()
  }, 5)
  return () => clearInterval(timer)
}
