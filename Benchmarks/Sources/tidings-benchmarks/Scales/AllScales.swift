/// In the order that they run in.
let allScales: [Scale] = PayloadScales.all + FlowScales.all + WakeGroupScales.all
