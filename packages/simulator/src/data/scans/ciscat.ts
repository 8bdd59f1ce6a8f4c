/** Results of CIS-CAT assessments, which only a few hosts have. */
import type { Row } from '../../model.ts'
import type { Machine } from '../machine.ts'
import { after } from '../times.ts'

const PROFILES = ['Level_1_-_Server', 'Level_2_-_Server', 'Level_1_-_Workstation'] as const
const DAY = 86_400

/** One row for each day's run, the oldest first. */
export function assessments(machine: Machine): Row[] {
  const random = machine.lasting('ciscat')
  if (!machine.key.startsWith('000') && !random.chance(0.4)) return []
  const runs = random.int(1, 3)
  const id = random.int(1, 2_000_000_000)
  const benchmark = `CIS ${machine.os.name} ${machine.os.major} Benchmark`
  return Array.from({ length: runs }, (_, run) => {
    const pass = random.int(60, 130)
    const fail = random.int(20, 110)
    const time = after(machine.scanned, (run + 1 - runs) * DAY)
    return {
      scan_id: id + run,
      scan_time: `${time.toISOString().slice(0, 19)}.${random.int(100, 999)}Z`,
      benchmark,
      profile: `xccdf_org.cisecurity.benchmarks_profile_${random.pick(PROFILES)}`,
      pass,
      fail,
      error: random.chance(0.1) ? random.int(1, 3) : 0,
      notchecked: random.int(0, 40),
      unknown: random.int(0, 2),
      score: Math.floor((100 * pass) / (pass + fail)),
    }
  })
}
