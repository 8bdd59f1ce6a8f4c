/**
 * The slots of each node, shared by all replicas: together they have at most as many calls in flight on a node as its
 * limit allows. A replica leases slots from Redis as it needs them and then starts calls without asking again. It returns
 * slots that it does not use with its next heartbeat, and at once if another replica waits.
 *
 * If Redis is unreachable, a replica goes on with its slots, at least one, until its lease would have expired. Then it uses
 * its share: the limit divided by the replicas last seen, at least one.
 */
import type { SharedSlots } from '../core/node-call.ts'
import { ownField, ownText, parseJson } from '../core/values.ts'
import { redisChannels } from './options.ts'
import type { RedisReplica } from './replica.ts'
import { SlotLease } from './slot-lease.ts'

/** Must be called before the replica starts. */
export function createSharedSlots(replica: RedisReplica): SharedSlots {
  const leases = new Set<SlotLease>()
  let opened = 0
  replica.subscribe(redisChannels.slots, (text) => {
    const message = parseJson(text)
    const name = ownText(message, 'node')
    const receivers = ownField(message, 'to')
    for (const lease of leases) {
      const { holder } = lease.options
      if (lease.options.name !== name) continue
      if (Array.isArray(receivers) && receivers.includes(holder)) lease.onGrant()
      if (ownField(message, 'waits') === true && ownText(message, 'from') !== holder) lease.onWaiting()
    }
  })
  replica.heartbeat.onBeat(() => {
    for (const lease of leases) lease.renew()
  })
  return {
    open: (name, limit, onChange) => {
      opened += 1
      const holder = `${replica.id}:${opened}`
      const onClose = () => void leases.delete(lease)
      const lease = new SlotLease({ replica, name, holder, limit, onChange, onClose })
      leases.add(lease)
      return lease
    },
  }
}
