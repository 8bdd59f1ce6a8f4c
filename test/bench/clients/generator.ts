/** Runs the clients of a session, and measures the delay that the generator and the machine add themselves. */
import { Connections, type Received } from './connections.ts'
import { CLIENT_TIMEOUT_MS, LOGIN_INTERVAL_MS, type Session, thinkTime } from './session.ts'
import { emptyTaken, record, recordLogin, type Taken } from './taken.ts'

export interface SessionOptions {
  readonly session: Session
  /** The clients are divided evenly among these servers. */
  readonly urls: readonly string[]
  readonly clients: number
  /** Basic credentials, divided evenly among the clients. Clients of the v4 contract log in with them. */
  readonly credentials: readonly string[]
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

/** Starts the clients evenly within `rampMs`, each at another place of the session. */
export function startSession(options: SessionOptions, rampMs: number): RunningSession {
  const { session, urls, clients, credentials, throughEdge, echo } = options
  const { gets, contract, turns = [gets.map((_, get) => get)] } = session
  const headers = `Host: manager\r\n${contract === 'v3' ? 'wazuh-app-version: 3.11.5\r\n' : ''}`
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
  const newPhase = (): Phase => ({ taken: emptyTaken(gets.length), own: { echo: [], late: [] } })
  let phase = newPhase()
  let isStopped = false
  let inFlight = 0
  let sent = 0
  let idle: (() => void) | undefined

  const startClient = (number: number): void => {
    const pool = pools[number % pools.length]
    const basic = credentials[number % credentials.length] ?? ''
    let authorization = contract === 'v4' ? undefined : basic
    let nextLogin = Number.POSITIVE_INFINITY
    const turn = turns[number % turns.length] ?? []
    let place = number % turn.length
    let due = performance.now()

    /** Counts a request until its answer, and then sends the next one after the time to think. */
    const exchange = (request: Parameters<Connections['send']>[0], onAnswer: Answered): void => {
      const start = performance.now()
      const own = phase
      sent += 1
      if (sent % LATE_SAMPLE === 0) own.own.late.push(start - due)
      inFlight += 1
      pool?.send(request, (received) => {
        const end = performance.now()
        inFlight -= 1
        onAnswer(own.taken, end - start, received)
        if (isStopped && inFlight === 0) idle?.()
        const think = thinkTime()
        due = end + think
        setTimeout(next, think)
      })
    }
    const logIn = (): void => {
      const isFirst = nextLogin === Number.POSITIVE_INFINITY
      // The first interval is shortened: clients that have been there for a while log in at any time.
      nextLogin = performance.now() + LOGIN_INTERVAL_MS * (isFirst ? Math.random() : 1)
      exchange({ ...LOGIN, authorization: basic }, (taken, ms, received) => {
        const token = recordLogin(taken, ms, received)
        authorization = token === undefined ? undefined : `Bearer ${token}`
      })
    }
    const next = (): void => {
      if (isStopped) return
      if (authorization === undefined || performance.now() > nextLogin) {
        logIn()
        return
      }
      const get = turn[place] ?? 0
      place = (place + 1) % turn.length
      exchange({ method: 'GET', target: gets[get]?.target ?? '/', authorization }, (taken, ms, received) => {
        record(taken, get, ms, received, { throughEdge, ...session })
        if (!isStopped) phase.taken.arrived += 1
        if (received.status === 401 && contract === 'v4') authorization = undefined
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

type Answered = (taken: Taken, ms: number, received: Received) => void

/** The answer is the token, of less than 4 KB. */
const LOGIN = { method: 'POST', target: '/security/user/authenticate?raw=true', bodyBytes: 4096 } as const

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
