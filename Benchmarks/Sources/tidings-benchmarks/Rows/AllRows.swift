/// In the order of the table.
let allRows: [Row] =
    limitRows + CenterRows.all + FlowRows.all + PlaceRows.all + SwiftRows.all + SleeperRows.all + WakeGroupRows.all
    + DeathRows.all
    + FreshRows.all
    + NotifyRows.all
    + MemoryRows.all
    + IdleRows.all
