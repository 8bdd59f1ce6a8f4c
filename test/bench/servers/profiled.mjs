/**
 * Lets a benchmark take CPU profiles of a process: the first SIGUSR2 starts one, the next one stops it and writes it to
 * PID.cpuprofile in the folder that the query of this module names.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

const SAMPLING_INTERVAL_US = 200

if (isMainThread) {
  const file = join(new URL(import.meta.url).searchParams.get('folder'), `${process.pid}.cpuprofile`)
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.setSamplingInterval', { interval: SAMPLING_INTERVAL_US })
  let isRunning = false
  process.on('SIGUSR2', () => {
    isRunning = !isRunning
    if (isRunning) session.post('Profiler.start')
    else
      session.post('Profiler.stop', (error, result) => {
        writeFileSync(`${file}.part`, JSON.stringify(error ? { error: error.message } : result.profile))
        renameSync(`${file}.part`, file)
      })
  })
}
