/** Which requests share one fetch, and what the fetch has of the request that starts it. */
import { EdgeError } from '../core/errors.ts'
import { NO_COST, type RequestClient } from '../core/request.ts'
import type { Mutable } from '../core/values.ts'
import type { FetchResult, ReadContext } from './read-context.ts'
import { epochsText } from './stores/epochs.ts'

/** Returns the work of one fetch, as all requests that share it see it. */
export function workOf(context: ReadContext, run: (context: ReadContext) => Promise<FetchResult>, isStored: boolean) {
  const { request, target } = context
  const { flow } = request.client
  // A late call of a joined read, and of its parts, is not sent twice: it would cost more than its price.
  const isPart = request.deadline !== Number.POSITIVE_INFINITY
  const isShared = isStored && !target.policy.isJoined && (!isPart || request.client.isShared === true)
  return {
    // The request that starts the fetch is charged for it, not for its parts, and a refresh is charged to none.
    onStart: () => request.cost.charge(),
    run: ({ signal, presence }: RequestClient) => {
      // One by one: to spread an object for each takes several times as long.
      const client: Mutable<RequestClient> = { signal }
      if (flow !== undefined) client.flow = flow
      if (isShared) client.isShared = true
      // Others will use a snapshot, whatever becomes of the client whose request has led to it.
      if (presence !== undefined && request.extent !== 'allRows') client.presence = presence
      return run({ ...context, request: { ...request, client, cost: NO_COST } })
    },
    // A call without a time limit might never end if its caller could not end it.
    continuesWithoutCallers: isStored && !request.waitForComplete,
  }
}

const REFUSED_CREDENTIALS = 901

/**
 * Returns whether the node refused the credentials of the caller. Users with the same rights may share a fetch, and the
 * node may accept the token of another one.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof EdgeError && error.code === REFUSED_CREDENTIALS
}

/**
 * Returns the id of a fetch that requests with the same epochs share. `epochs`: a text in place of the epochs, for a fetch that
 * requests share whatever their epochs are.
 * Calls without a time limit, and calls with a name and a password, are shared only among their like. Calls with a token of
 * the manager are shared by users with the same rights, which are a part of the key.
 */
export function flightId({ request, target, lookup }: ReadContext, epochs = epochsText(lookup)): string {
  const owner = request.caller.credentials === undefined ? '' : request.caller.name
  return `${target.key} ${epochs} ${request.waitForComplete} ${request.effort} ${owner}`
}
