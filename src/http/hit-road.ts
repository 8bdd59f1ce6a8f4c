/**
 * The short road of a hit, in front of the router: for a URL that was validated before, the same functions decide in the
 * same order (authenticate → authorise → handle → represent), and what is kept goes out at once. Everything else goes
 * on down the usual road, and takes along what has been decided, so that nothing is counted, asked or written twice.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import { RecentlyUsed } from '../core/recent.ts'
import type { Handler } from '../core/request.ts'
import { type Head, headOf } from '../listener/head.ts'
import type { Validated } from './ask.ts'
import type { Authenticate } from './authenticate.ts'
import type { AddressOf } from './client-address.ts'
import { type Decided, Hit, type Known, type Way } from './hit.ts'
import type { LoggedHit, Observe } from './observe.ts'
import { requestLines, type WriteLine } from './request-lines.ts'
import { requestLine } from './request-log.ts'
import type { BeginTrace } from './trace.ts'

/** URLs that are known, and how long they may be: else their number were no bound. */
const URLS = 5000
const LONGEST_URL = 512

type Serve = (request: IncomingMessage, response: ServerResponse) => void

export interface HitRoadOptions {
  readonly handle: Handler
  readonly log: FastifyBaseLogger
  /** Takes whole lines of the log; absent: they go through the logger. */
  readonly writeLine?: WriteLine
  readonly compressFrom?: number
  readonly observe?: Observe
  readonly beginTrace?: BeginTrace
  readonly clientAddress: AddressOf
  managerVersion(): string | undefined
}

export interface HitRoad {
  /** Gives the listener that stands in front of the framework's. */
  inFront(handler: Serve): Serve
  /** From now on known URLs take this road. */
  open(authenticate: Authenticate): void
  /** This URL was found valid, and its answer may be kept. */
  learn(url: string, validated: Validated): void
  decided(request: IncomingMessage): Decided | undefined
}

export function createHitRoad(options: HitRoadOptions): HitRoad {
  // What validation makes of a URL depends on nothing but its text.
  const known = new RecentlyUsed<Known>(URLS)
  const taken = new WeakMap<IncomingMessage, Decided>()
  const logHit = logOf(options)
  let authenticate: Authenticate | undefined

  return {
    inFront: (handler) => {
      const goOn: Way['goOn'] = (request, response, decided) => {
        taken.set(request, decided)
        handler(request, response)
      }
      const way: Way = { ...options, logHit, goOn }
      return (request, response) => {
        const head = headOf(request)
        const found = isRead(request, head) ? known.find(request.url ?? '') : undefined
        if (found === undefined || authenticate === undefined) {
          handler(request, response)
          return
        }
        const id = randomUUID()
        const trace = options.beginTrace?.({ id, raw: request })
        // What is recorded shows every stage.
        if (trace?.recorded) goOn(request, response, { id, waited: 0, trace })
        else new Hit(way, { id, trace, known: found, head, request, response }).serve(authenticate)
      }
    },
    open: (first) => {
      authenticate = first
    },
    learn: (url, validated) => {
      if (url.length <= LONGEST_URL) known.learn(url, { validated, enough: new WeakSet() })
    },
    decided: (request) => taken.get(request),
  }
}

function isRead({ method }: IncomingMessage, { headers }: Head): boolean {
  return (method === 'GET' || method === 'HEAD') && headers.expect === undefined
}

function logOf({ writeLine, log }: HitRoadOptions): Way['logHit'] {
  if (writeLine !== undefined) return requestLines(writeLine)
  return (hit: LoggedHit) => log.info(requestLine(hit), 'request')
}
