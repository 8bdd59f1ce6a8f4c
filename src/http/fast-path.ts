/**
 * The fast path, in front of the router: for a URL that was validated before, it admits the request, looks up the
 * cache and sends a hit in one write. Every other request continues on the regular path, which takes over what has
 * been decided, so that nothing is counted, verified or fetched twice.
 *
 * This module decides which requests take the fast path. `fast-request.ts` answers them.
 */
import type { IncomingMessage, RequestListener } from 'node:http'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import { headOf, type RequestHead } from '../listener/framing.ts'
import type { Admission } from './admit.ts'
import type { ValidatedUrl } from './edge-request.ts'
import type { FastPathContext, FastPathOptions, KnownUrl } from './fast-path-context.ts'
import { FastRequest } from './fast-request.ts'
import { hitLog } from './request-log.ts'
import type { Handover } from './request-state.ts'

/** Longer URLs are not remembered. */
const MAX_URL_LENGTH = 512

export interface FastPath {
  /** Returns the listener of the server, which passes to `handler` every request that the fast path does not answer. */
  wrap(handler: RequestListener): RequestListener
  /** From now on, requests for known URLs take the fast path. */
  open(admission: Admission): void
  /** Remembers a URL that was found valid and whose response may be cached. */
  remember(url: string, validated: ValidatedUrl): void
  /** Forgets all URLs, because settings that their validation depends on have changed. */
  forgetUrls(): void
  /** Returns what the fast path decided about a request that it passed on. */
  handoverOf(request: IncomingMessage): Handover | undefined
}

export function createFastPath(options: FastPathOptions): FastPath {
  let urls = new RecentlyUsed<KnownUrl>(MAX_IN_USE)
  const handovers = new WeakMap<IncomingMessage, Handover>()

  const context: FastPathContext = {
    options,
    admission: undefined,
    logHit: hitLog(options.log, options.writeLine),
    leave: () => undefined,
  }
  return {
    wrap: (handler) => {
      context.leave = (fast) => {
        const { request, response } = fast
        handovers.set(request, fast)
        handler(request, response)
      }
      return (request, response) => {
        const { admission } = context
        const head = headOf(request)
        const url = isRead(request, head) ? urls.get(request.url ?? '') : undefined
        if (url === undefined || admission === undefined) handler(request, response)
        else new FastRequest(context, { url, head, method: methodOf(request), request, response }).serve(admission)
      }
    },
    open: (opened) => {
      context.admission = opened
    },
    remember: (url, validated) => {
      if (url.length <= MAX_URL_LENGTH) urls.set(url, { ...validated, sufficient: new WeakSet() })
    },
    forgetUrls: () => {
      urls = new RecentlyUsed<KnownUrl>(MAX_IN_USE)
    },
    handoverOf: (request) => handovers.get(request),
  }
}

/** A body is read by the regular path before the request is answered, even if it has no meaning. */
function isRead({ method }: IncomingMessage, { headers, hasBody }: RequestHead): boolean {
  return (method === 'GET' || method === 'HEAD') && headers.expect === undefined && !hasBody
}

function methodOf({ method }: IncomingMessage): 'GET' | 'HEAD' {
  return method === 'HEAD' ? 'HEAD' : 'GET'
}
