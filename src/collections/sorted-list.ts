/** Adds an element to a list whose last element comes first. Elements are few, so that to move them costs less than a heap does. */
export function addInOrder<T>(list: T[], element: T, isBefore: (a: T, b: T) => boolean): void {
  let from = 0
  let to = list.length
  while (from < to) {
    const middle = (from + to) >> 1
    if (isBefore(element, list[middle] as T)) from = middle + 1
    else to = middle
  }
  list.splice(from, 0, element)
}
