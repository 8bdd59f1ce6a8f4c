/** Purges from the console: the same operations of the catalogue that clients call, on the same road. */

import type { PurgeCost, PurgeOrder } from '../admin/console/answers/cache.ts'
import type { ConsolePorts } from '../admin/console-ports.ts'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { catalogue } from '../catalogue/index.ts'
import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'

export function purger(handle: Handler): ConsolePorts['purge'] {
  const all = operation('cacheClear')
  const group = operation('cacheClearGroup')
  return async (order, { caller, client, requestId }) => {
    const ask = (preview: boolean): EdgeRequest => ({
      endpoint: order.group === undefined ? all : group,
      params: order.group === undefined ? {} : { group: order.group },
      query: queryOf(order, preview),
      caller,
      clientAddress: client,
      waitForComplete: false,
      requestId,
      signal: new AbortController().signal,
    })
    // What it cost can be said only before it is gone.
    const cost = read(await handle(ask(true))) as PurgeCost
    if (!order.preview) read(await handle(ask(false)))
    return cost
  }
}

function queryOf({ key, soft }: PurgeOrder, preview: boolean): EdgeRequest['query'] {
  return { ...(key !== undefined && { key }), ...(soft && { soft: 'true' }), ...(preview && { preview: 'true' }) }
}

function operation(name: string): Endpoint {
  const found = catalogue.find(({ target }) => target.kind === 'edge' && target.operation === name)
  if (found === undefined) throw new Error(`the catalogue has no operation ${name}`)
  return found
}

function read(answer: Awaited<ReturnType<Handler>>): unknown {
  const { error, data } =
    answer.kind === 'json' ? (JSON.parse(answer.body.toString()) as { error: number; data: unknown }) : {}
  if (error !== 0) throw new EdgeError(949)
  return data
}
