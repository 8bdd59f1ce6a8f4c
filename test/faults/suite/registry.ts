/** Every promise that the suite checks, in the order of the table. */
import type { FaultPromise } from './promise.ts'
import { capacityPromises } from './promises/capacity.ts'
import { clientPromises } from './promises/clients.ts'
import { clockPromises } from './promises/clock.ts'
import { coherencePromises } from './promises/coherence.ts'
import { hangPromises } from './promises/hangs.ts'
import { masterPromises } from './promises/master.ts'
import { missPromises } from './promises/misses.ts'
import { nodePromises } from './promises/nodes.ts'
import { outagePromises } from './promises/outage.ts'
import { overloadPromises } from './promises/overload.ts'
import { redisPromises } from './promises/redis.ts'
import { reloadPromises } from './promises/reload.ts'
import { restartPromises } from './promises/restart.ts'
import { writePromises } from './promises/writes.ts'

const number = ({ id }: FaultPromise) => Number(id.slice(1))

export const promises: readonly FaultPromise[] = [
  ...capacityPromises,
  ...outagePromises,
  ...overloadPromises,
  ...redisPromises,
  ...restartPromises,
  ...nodePromises,
  ...masterPromises,
  ...hangPromises,
  ...missPromises,
  ...coherencePromises,
  ...writePromises,
  ...clientPromises,
  ...clockPromises,
  ...reloadPromises,
].sort((one, other) => number(one) - number(other))
