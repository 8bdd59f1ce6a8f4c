/** The tokens of all nodes, for calls in the newer layout. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { UpstreamNode } from '../node.ts'
import type { ClusterSettings } from '../options.ts'
import type { AccountOf } from './accounts.ts'
import { TokenCalls } from './token-calls.ts'

export type TokenCallsOf = (node: UpstreamNode) => TokenCalls

/** The tokens of a node end with it: a token is valid at its node only. */
export function createTokenCalls(settings: ClusterSettings, accountOf: AccountOf): TokenCallsOf {
  const { limits, log, clock, failedLogins } = settings
  const known = new WeakMap<UpstreamNode, TokenCalls>()
  return (node) => {
    const found = known.get(node) ?? createFor(node)
    known.set(node, found)
    return found
  }

  function createFor(node: UpstreamNode): TokenCalls {
    return new TokenCalls({
      node: node.setting.name,
      send: (call) => node.call(call),
      accountOf,
      timeout: () => limits().timeout,
      clock: { elapsed: clock, wall: () => Date.now() },
      sleep: (ms) => sleep(ms),
      log,
      ...(failedLogins && { failedLogins }),
    })
  }
}
