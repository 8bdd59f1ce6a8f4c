/** Checks an uploaded file in a thread of its own, which ends if it needs too much memory. */
import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { checkXml } from '../../../src/http/uploaded-xml.ts'

/** Resolves to `accepted`, or to the reason why the file is rejected or the thread has ended. */
export async function checkInThread(file: string, maxHeapMb: number): Promise<string> {
  const resourceLimits = { maxOldGenerationSizeMb: maxHeapMb }
  const worker = new Worker(new URL(import.meta.url), { workerData: Buffer.from(file), resourceLimits })
  const outcome = await once(worker, 'message').then(String, String)
  await worker.terminate()
  return outcome
}

if (!isMainThread) parentPort?.postMessage(await checkXml(Buffer.from(workerData)).then(() => 'accepted', String))
