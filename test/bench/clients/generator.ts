/** Runs the clients of the session, and measures the delay that the generator and the machine add themselves. */
import { Connections } from './connections.ts'
import { CLIENT_TIMEOUT_MS, DASHBOARD, thinkTime } from './session.ts'
import { emptyTaken, record, type Taken } from './taken.ts'

export interface SessionOptions {
  /** The clients are divided evenly among these servers. */
  readonly urls: readonly string[]
  readonly clients: number
  readonly authorization: string
  /** Whether answers must have `Age` and `Cache-Status`. */
  readonly throughEdge: boolean
  /** The address of the server that answers at once. */
  readonly echo: string
}

/** Milliseconds that the generator and the machine add, without the servers that are measured. */
export interface OwnDelay {
  /** Requests to the echo server, sent and received as those to the edge. */
  readonly echo: number[]
  /** From the due time of a request until it is sent. */
  readonly late: number[]
}

export interface RunningSession {
  /** Ends a phase and begins the next one. An answer belongs to the phase in which its request was sent. */
  nextPhase(): { readonly taken: Taken; readonly own: OwnDelay }
  /** Requests in flight. */
  inFlight(): number
  /** Sends no further request, and resolves when all answers have arrived. */
  stop(): Promise<void>
}

const ECHO_INTERVAL_MS = 50
/** One of this number of requests is recorded for `late`. */
const LATE_SAMPLE = 16

interface Phase {
  readonly taken: Taken
  readonly own: OwnDelay
}

const newPhase = (): Phase => ({ taken: emptyTaken(DASHBOARD.length), own: { echo: [], late: [] } })

/** Starts the clients evenly within `rampMs`, each at another place of the session. */
export function startSession(options: SessionOptions, rampMs: number): RunningSession {
  const { urls, clients, authorization, throughEdge, echo } = options
  const headers = `Host: manager\r\nAuthorization: ${authorization}\r\nwazuh-app-version: 3.11.5\r\n`
  const keepAlive = throughEdge
  const pools = urls.map(
    (url) =>
      new Connections({
        url,
        headers: keepAlive ? headers : `${headers}Connection: close\r\n`,
        keepAlive,
        timeoutMs: CLIENT_TIMEOUT_MS,
      }),
  )
  let phase = newPhase()
  let isStopped = false
  let inFlight = 0
  let sent = 0
  let idle: (() => void) | undefined

  const startClient = (number: number): void => {
    const pool = pools[number % pools.length]
    let place = number % DASHBOARD.length
    let due = performance.now()
    const next = (): void => {
      const get = place
      place = (place + 1) % DASHBOARD.length
      if (isStopped) return
      const start = performance.now()
      const own = phase
      sent += 1
      if (sent % LATE_SAMPLE === 0) own.own.late.push(start - due)
      inFlight += 1
      pool?.get(DASHBOARD[get]?.target ?? '/', (received) => {
        const end = performance.now()
        inFlight -= 1
        record(own.taken, get, end - start, received, throughEdge)
        if (!isStopped) phase.taken.arrived += 1
        if (isStopped && inFlight === 0) idle?.()
        const think = thinkTime()
        due = end + think
        setTimeout(next, think)
      })
    }
    next()
  }
  for (let number = 0; number < clients; number += 1) {
    setTimeout(() => startClient(number), (rampMs * number) / clients)
  }
  const stopEcho = startEcho(echo, (ms) => phase.own.echo.push(ms))
  return {
    inFlight: () => inFlight,
    nextPhase: () => {
      const ended = phase
      phase = newPhase()
      return ended
    },
    stop: async () => {
      isStopped = true
      stopEcho()
      if (inFlight > 0) await new Promise<void>((resolve) => (idle = resolve))
      for (const pool of pools) pool.close()
    },
  }
}

function startEcho(url: string, onAnswer: (ms: number) => void): () => void {
  const pool = new Connections({ url, headers: 'Host: echo\r\n', keepAlive: true, timeoutMs: CLIENT_TIMEOUT_MS })
  const timer = setInterval(() => {
    const start = performance.now()
    pool.get('/', ({ fault }) => {
      if (fault === undefined) onAnswer(performance.now() - start)
    })
  }, ECHO_INTERVAL_MS)
  return () => {
    clearInterval(timer)
    pool.close()
  }
}
