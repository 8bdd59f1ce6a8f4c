import { createTraffic, type Traffic } from '../../src/admin/console/traffic.ts'
import { RequestCounts } from '../../src/telemetry/events.ts'

/** Traffic whose requests do not come through a ring. `clock`: monotonic milliseconds. */
export function trafficOf(clock: () => number): Traffic {
  const requests = { drain: () => undefined }
  return createTraffic({ counts: new RequestCounts(), requests, clock })
}
