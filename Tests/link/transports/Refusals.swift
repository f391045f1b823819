// What each transport refuses, with one line.

import Foundation
import TidingsLink
import TidingsRelay

let natsTests: [(String, Test)] = []
let tlsTests: [(String, Test)] = []
