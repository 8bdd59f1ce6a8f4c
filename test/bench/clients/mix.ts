/**
 * What so many clients ask for (contract, clients.md): each loads a page of six calls every
 * half minute, one of twenty watches a log view, one of a hundred pages through all agents, one of a thousand writes.
 * Arrivals are at random, as many people's are, and do not wait for answers.
 */

export interface Wish {
  readonly kind: 'page' | 'log' | 'all' | 'write'
  readonly method: string
  readonly path: string
}

export interface Mix {
  readonly clients: number
  /** Agents of the cluster. */
  readonly agents: number
  /** Of these many agents people look at one: the page of an agent, and its sync. */
  readonly lookedAt: number
  readonly nodes: readonly string[]
}

/** Seconds from one page of a client to its next. */
const PAGE = 30
const ROWS = 500

/** Calls a second that the mix comes to. */
export function rateOf({ clients, agents }: Mix): number {
  const all = (0.01 * clients * Math.ceil((agents + 1) / ROWS)) / PAGE
  return (6 * clients) / PAGE + 0.05 * clients + all + (0.001 * clients) / PAGE
}

/** Calls `begin` for each action at its moment, until it is stopped: what belongs to one page comes at once. */
export function arrivals(mix: Mix, begin: (wishes: readonly Wish[], sequence: boolean) => void): () => void {
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

const get = (kind: Wish['kind'], path: string): Wish => ({ kind, method: 'GET', path })

function page(mix: Mix): Wish[] {
  const id = agentOf(mix)
  const paths = ['/agents?limit=500', '/agents/summary', '/manager/status', '/manager/info']
  return [...paths, `/agents/${id}`, `/agents/${id}/group/is_sync`].map((path) => get('page', path))
}

function log({ nodes }: Mix): Wish {
  const node = nodes[Math.floor(Math.random() * nodes.length)]
  return get('log', `/cluster/${node}/logs?limit=10`)
}

function allAgents({ agents }: Mix): Wish[] {
  const pages = Math.ceil((agents + 1) / ROWS)
  return Array.from({ length: pages }, (_, i) => get('all', `/agents?offset=${i * ROWS}&limit=${ROWS}`))
}

function write(mix: Mix): Wish {
  const method = Math.random() < 0.5 ? 'PUT' : 'DELETE'
  return { kind: 'write', method, path: `/agents/${agentOf(mix)}/group/web` }
}

function agentOf({ lookedAt }: Mix): string {
  return String(1 + Math.floor(Math.random() * lookedAt)).padStart(3, '0')
}

/** Timers are too coarse for one each: what has become due since the last look begins. */
function poisson(rate: number, begin: () => void): () => void {
  const gap = () => (-Math.log(1 - Math.random()) / rate) * 1000
  let due = performance.now() + gap()
  const timer = setInterval(() => {
    for (; due <= performance.now(); due += gap()) begin()
  }, 5)
  return () => clearInterval(timer)
}
