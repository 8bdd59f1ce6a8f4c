/**
 * The script that distributes the slots of a node among the replicas, and what its reply means. It never grants more than the limit of the node,
 * counts calls that run anyway, and grants free slots to the holder that has the fewest; among equals, to the one that
 * has been waiting longest. So every waiting holder gets a slot in its turn.
 */
import { NOW, script } from './scripts.ts'

/** The longest time for which the slots of a holder that has closed are kept. */
const MAX_KEPT_MS = 120_000

/**
 * State, one text: when it was created, the last turn, and for each holder `id=granted wanted turn until;`. `turn`
 * orders the holders that wait; a holder goes to the end when it receives or returns a slot. `until` in milliseconds of
 * Redis: the slots of a replica that was killed are free after its lease. A holder that has closed wants none, and has the slots
 * of the calls on which the node still works: for `kept` milliseconds.
 *
 * A new state does not know the slots that were granted before Redis lost its data. Until their leases have expired,
 * no holder receives more than its share.
 *
 * KEYS: state. ARGV: holder, limit of the node, share of one replica, calls in flight of the holder, slots that it
 * returns, slots that it wants in total (0: none), lease in milliseconds, name of the node, channel, `kept` (0: the holder does
 * not close). Publishes which other holders received a slot, and whether this holder begins to wait. Returns the granted slots
 * of this holder and of all others, the fewest slots of another holder that waits (-1: none waits), and the number of holders
 * that have not closed.
 */
export const DISTRIBUTE_SLOTS = script(
  NOW,
  `
local limit, share, inFlight = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local returned, wanted, lease = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local kept = tonumber(ARGV[10])
local text = redis.call('GET', KEYS[1]) or ''
local born, turn = string.match(text, '^(%d+) (%d+);')
born = math.min(tonumber(born) or now, now)
turn = tonumber(turn) or 0
local function nextTurn()
  turn = turn + 1
  return turn
end

local holders, taken, before = {}, 0, nil
for name, granted, wants, since, till in string.gmatch(text, '([^;=]+)=(%d+) (%d+) (%d+) (%d+);') do
  local holder = { name = name, granted = tonumber(granted), wanted = tonumber(wants), since = tonumber(since) }
  -- A clock that was set back must not extend a lease.
  local hasClosed = holder.granted > holder.wanted
  holder.till = math.min(tonumber(till), now + (hasClosed and ${MAX_KEPT_MS} or lease))
  if holder.till > now then
    if name == ARGV[1] then
      before = holder
    else
      holders[#holders + 1] = holder
      taken = taken + holder.granted
    end
  end
end

local own = { name = ARGV[1], wanted = math.max(inFlight, wanted), till = now + lease }
local had = before and before.granted or 0
own.granted = math.max(inFlight, math.min(had - returned, own.wanted))
if kept > 0 then
  own.wanted = 0
  own.till = now + math.min(kept, ${MAX_KEPT_MS})
end
local waited = before ~= nil and before.wanted > had
own.since = waited and returned == 0 and before.since or nextTurn()
holders[#holders + 1] = own
taken = taken + own.granted

local most = limit
if now - born < lease then most = math.min(limit, share) end
local receivers, received = {}, {}
while taken < limit do
  local best
  for _, each in ipairs(holders) do
    if each.granted < math.min(each.wanted, most) then
      local fewer = not best or each.granted < best.granted
      if fewer or (each.granted == best.granted and each.since < best.since) then best = each end
    end
  end
  if not best then break end
  best.granted = best.granted + 1
  best.since = nextTurn()
  taken = taken + 1
  if best ~= own and not received[best.name] then
    received[best.name] = true
    receivers[#receivers + 1] = best.name
  end
end

local rows, poorest, open = { string.format('%.0f %.0f;', born, turn) }, -1, 0
for _, each in ipairs(holders) do
  if each ~= own and each.wanted > each.granted and (poorest < 0 or each.granted < poorest) then
    poorest = each.granted
  end
  if each.wanted > 0 or each.granted > 0 then
    local row = '%s=%.0f %.0f %.0f %.0f;'
    rows[#rows + 1] = string.format(row, each.name, each.granted, each.wanted, each.since, each.till)
    if each.wanted > 0 then open = open + 1 end
  end
end
local after = table.concat(rows)
if after ~= text then redis.call('SET', KEYS[1], after, 'PX', 86400000) end

local waits = own.wanted > own.granted and not (waited and returned == 0)
if waits or #receivers > 0 then
  local message = { node = ARGV[8], from = ARGV[1], waits = waits }
  if #receivers > 0 then message.to = receivers end
  redis.call('PUBLISH', ARGV[9], cjson.encode(message))
end
return { own.granted, taken - own.granted, poorest, open }`,
)

export type DistributionReply = readonly [granted: number, others: number, poorest: number, holders: number]

/** What Redis has granted to a holder until this time, and what it reported of the others. */
export interface Lease {
  readonly until: number
  slots: number
  /** Slots that were free already when Redis last granted them. They need not be returned before they are used. */
  unused: number
  /** This holder wants more slots than it has, and the others know. */
  isWaiting: boolean
  othersWait: boolean
  /** Another holder waits that has so few slots that this one lets it go first: each call that ends returns its slot. */
  yields: boolean
  /** Slots of other holders. */
  readonly others: number
  readonly holders: number
}

export function noLease(): Lease {
  const none = { slots: 0, unused: 0, isWaiting: false, othersWait: false, yields: false, others: 0, holders: 0 }
  return { until: Number.NEGATIVE_INFINITY, ...none }
}

/** `wanted`, `limit`: those of the step. */
export function leaseOf(
  reply: DistributionReply,
  { until, wanted, limit }: { readonly until: number; readonly wanted: number; readonly limit: number },
): Lease {
  const [slots, others, poorest, holders] = reply
  const [isWaiting, othersWait, yields] = [wanted > slots, poorest >= 0, mustYield(reply, limit)]
  return { until, slots, unused: 0, isWaiting, othersWait, yields, others, holders }
}

/**
 * Returns whether each call that ends must return its slot: another holder waits with at least two slots less, or without
 * any, or the limit was lowered below the granted slots.
 */
function mustYield([granted, others, poorest]: DistributionReply, limit: number): boolean {
  const isUneven = poorest === 0 || (poorest > 0 && granted > poorest + 1)
  return granted > 0 && (isUneven || granted + others > limit)
}
