/** Does pieces of work, so many at once, and gives what came of each in the order of the pieces. */
export async function inLanes<In, Out>(
  pieces: readonly In[],
  most: number,
  work: (piece: In) => Promise<Out>,
): Promise<Out[]> {
  const done: Out[] = []
  let next = 0
  const lane = async () => {
    for (let at = next++; at < pieces.length; at = next++) done[at] = await work(pieces[at] as In)
  }
  await Promise.all(Array.from({ length: Math.min(most, pieces.length) }, lane))
  return done
}
