import { createTraffic, type Traffic } from '../../packages/console/server/traffic.ts'
import { RequestCounts } from '../../src/telemetry/events.ts'

/** Traffic whose requests do not come through a ring. `clock`: monotonic milliseconds. */
export function trafficOf(clock: () => number): Traffic & Pick<RequestCounts, 'request'> {
  const totals = new RequestCounts()
  const traffic = createTraffic({ totals: () => totals, requests: { drain: () => undefined }, clock })
  const { request } = totals
  const nodeCall: Traffic['nodeCall'] = (call) => {
    totals.nodeCall(call)
    traffic.nodeCall(call)
  }
  return { ...traffic, request, nodeCall }
}
